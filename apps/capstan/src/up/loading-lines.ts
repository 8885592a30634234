// `capstan up` loads many modules before it can do anything: a line from the first moment on, until there is something else to show.
import type { Io } from '../cli/io.ts';

const REPEATED_AFTER_MS = 1800;
const TITLE = 'Loading the operators';

/** Returns the io of a command. For a start that people watch, lines are written until the command writes its first. */
export function showLoading(argv: readonly string[], io: Io): Io {
  if (argv[0] !== 'up' || argv.some((argument) => NOT_WATCHED.test(argument))) return io;
  const began = performance.now();
  io.stderr(`${TITLE} ...\n`);
  const timer = setInterval(() => {
    io.stderr(`${TITLE} ... (${Math.round((performance.now() - began) / 1000)} s)\n`);
  }, REPEATED_AFTER_MS);
  timer.unref();
  const last = (write: (text: string) => void) => (text: string) => {
    clearInterval(timer);
    write(text);
  };
  const { confirm } = io;
  return Object.create(io, {
    stdout: { value: last(io.stdout) },
    stderr: { value: last(io.stderr) },
    ...(confirm && {
      confirm: {
        value: (question: string) => {
          clearInterval(timer);
          return confirm(question);
        },
      },
    }),
  }) as Io;
}

/** Help, and events for programs. */
const NOT_WATCHED = /^(?:-h|--help|json|-o=?json|--output=json)$/;
