// `capstan up` loads many modules before it can do anything, and later does work that blocks its thread. Another thread writes a line from
// the first moment on, and one more whenever there was none for nearly two seconds, until the ready screen is there.
import { Worker } from 'node:worker_threads';
import type { Io } from '../cli/io.ts';

/** It is longer than progress.ts waits between two lines, so that this thread only writes while the other one cannot. */
const LONGEST_SILENCE_MS = 1300;
const TITLE = 'Loading the operators';

/** Repeats the line that was written last, with the seconds since it was written first. */
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  let { title, began, silenceMs, turn, last } = workerData;
  parentPort.on('message', (message) => {
    if (message === undefined) {
      clearInterval(timer);
      parentPort.close();
      return;
    }
    title = message.title;
    began = message.at;
  });
  const timer = setInterval(() => {
    const now = Date.now();
    // The other thread is writing right now if its turn cannot be taken.
    if (Atomics.compareExchange(turn, 0, 0, 1) !== 0) return;
    try {
      if (now - last[0] < silenceMs) return;
      last[0] = now;
      writeSync(2, title + ' ... (' + Math.round((now - began) / 1000) + ' s)\\n');
    } catch {
      // Nothing is read there, or the disk is full.
    } finally {
      Atomics.store(turn, 0, 0);
      Atomics.notify(turn, 0);
    }
  }, 25);`;

/** Returns the io of a command. For a start that people watch, lines are written until the command prints its result; none beside a question. */
export function showLoading(argv: readonly string[], io: Io): Io {
  if (argv[0] !== 'up' || argv.some((argument) => NOT_WATCHED.test(argument))) return io;
  const began = Date.now();
  const turn = new Int32Array(new SharedArrayBuffer(4));
  const last = new Float64Array(new SharedArrayBuffer(8)).fill(began);
  const workerData = { title: TITLE, began, silenceMs: LONGEST_SILENCE_MS, turn, last };
  // The options of this process are not for it: one of them may be that of an inspector or a profile.
  const worker = new Worker(PROGRAM, { eval: true, execArgv: [], env: {}, workerData });
  worker.unref();
  // Without a thread there are fewer lines, and the start goes on.
  worker.on('error', () => undefined);
  /** Records the instant of the last line, and writes, while the other thread does not: no line of progress follows a result or an error. */
  const write = (at: number, print?: () => void) => {
    // A thread that stands still while it writes, to a terminal that reads nothing, does not hold this one up for longer than a line.
    while (Atomics.compareExchange(turn, 0, 0, 1) !== 0)
      if (Atomics.wait(turn, 0, 1, LONGEST_SILENCE_MS) === 'timed-out') break;
    try {
      last[0] = at;
      print?.();
    } finally {
      Atomics.store(turn, 0, 0);
      Atomics.notify(turn, 0);
    }
  };
  const { confirm } = io;
  let title = TITLE;
  io.stderr(`${title} ...\n`);
  return Object.create(io, {
    stdout: {
      value: (text: string) => {
        write(Number.POSITIVE_INFINITY, () => io.stdout(text));
        worker.postMessage(undefined, []);
      },
    },
    stderr: {
      value: (text: string) => {
        const shown = PROGRESS.exec(text)?.[1];
        if (shown !== undefined && shown !== title) {
          title = shown;
          worker.postMessage({ at: Date.now(), title }, []);
        }
        write(text.startsWith('error: ') ? Number.POSITIVE_INFINITY : Date.now(), () => io.stderr(text));
      },
    },
    ...(confirm && {
      confirm: {
        value: async (question: string) => {
          write(Number.POSITIVE_INFINITY);
          const answer = await confirm(question);
          write(Date.now());
          return answer;
        },
      },
    }),
  }) as Io;
}

/** A line of progress.ts. */
const PROGRESS = /^(\S.*) \.\.\.(?: \(.*\))?\n$/;
/** Help, and events for programs. */
const NOT_WATCHED = /^(?:-h|--help|json|-o=?json|--output=json)$/;
