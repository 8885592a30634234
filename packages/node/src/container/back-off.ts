// How long a container that ended waits until it is started again: not at all the first time, then ten seconds, then twice
// as long each time up to five minutes; after a run of ten minutes the back-off is reset.
const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;
const PROVED_MS = 600_000;

export interface BackOff {
  /** After a run of so many milliseconds. */
  next(ranMs: number): number;
}

export function createBackOff(): BackOff {
  let delay = 0;
  return {
    next(ranMs) {
      if (ranMs >= PROVED_MS) delay = 0;
      const wait = delay;
      delay = delay === 0 ? FIRST_MS : Math.min(2 * delay, LONGEST_MS);
      return wait;
    },
  };
}
