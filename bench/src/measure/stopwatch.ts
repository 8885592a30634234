// Time as this thread has it: the clock on the wall, less the time in which the thread was ready and the system had given
// the core to another client. On a quiet machine the two are the same; on a busy one the wall clock would measure the
// neighbours, above all in high percentiles. Waiting for anything but a core (the collector's threads, I/O) counts.
import { closeSync, openSync, readSync } from 'node:fs';

/** Starts a stopwatch, and returns a function that reads it in milliseconds, any number of times. */
export function stopwatch(): () => number {
  // The counters are read outside of the clock's readings: to read them costs some microseconds.
  const waitedBefore = waitedForCore();
  const begun = performance.now();
  return () => {
    const ended = performance.now();
    return Math.max(0, ended - begun - (waitedForCore() - waitedBefore));
  };
}

/** Milliseconds that the main thread has waited for a core since it began; 0 where the system does not tell. */
export function waitedForCore(): number {
  if (process.platform !== 'linux') return 0;
  try {
    const file = openSync('/proc/self/schedstat', 'r');
    try {
      const buffer = Buffer.allocUnsafe(96);
      const [, waited = '0'] = buffer.toString('latin1', 0, readSync(file, buffer)).split(' ');
      return Number(waited) / 1e6;
    } finally {
      closeSync(file);
    }
  } catch {
    // A kernel without these statistics: the wall clock alone.
    return 0;
  }
}
