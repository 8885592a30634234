// How long a container that ended waits until it is started again: not at all the first time, then ten seconds, then twice
// as long each time up to five minutes; after a run of ten minutes the back-off is reset.
import { backOff } from '@capstan/kube/cluster';

const BACK_OFF = { firstMs: 10_000, longestMs: 300_000 };
const PROVED_MS = 600_000;

export interface RestartWaits {
  /** After a run of so many milliseconds. */
  next(ranMs: number): number;
}

export function createRestartWaits(): RestartWaits {
  let restarts = 0;
  return {
    next(ranMs) {
      if (ranMs >= PROVED_MS) restarts = 0;
      const wait = restarts === 0 ? 0 : backOff(restarts, BACK_OFF);
      restarts++;
      return wait;
    },
  };
}
