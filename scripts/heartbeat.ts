// Lines while a script is silent: packing and compressing block its thread for many seconds, so another one writes them.
import { Worker } from 'node:worker_threads';

/** It is well below two seconds, because a busy machine writes late. */
const LONGEST_SILENCE_MS = 1300;

const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  const began = Date.now();
  let at = began;
  parentPort.on('message', (now) => (at = Math.max(at, now)));
  setInterval(() => {
    if (Date.now() - at < workerData.silenceMs) return;
    at = Date.now();
    writeSync(2, '  ... (' + Math.round((at - began) / 1000) + ' s)\\n');
  }, 100);`;

export interface Heartbeat {
  /** Prints a line of the script itself. */
  report(line: string): void;
  stop(): Promise<unknown>;
}

export function startHeartbeat(print: (line: string) => void = console.log): Heartbeat {
  const worker = new Worker(PROGRAM, { eval: true, execArgv: [], workerData: { silenceMs: LONGEST_SILENCE_MS } });
  worker.unref();
  return {
    report(line) {
      print(line);
      worker.postMessage(Date.now(), []);
    },
    stop: () => worker.terminate(),
  };
}
