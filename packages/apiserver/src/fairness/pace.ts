import type { Pause } from '../steps.ts';

/** Work of a request that takes longer lets others be served. */
const STEP_MS = 10;

/** Returns the pause of a request that walks many objects: it goes on at once until it has worked for a while, and then waits for its next turn. */
export function createPace(next: () => Promise<void>, now: () => number = () => performance.now()): Pause {
  let began = now();
  return () => {
    if (now() - began < STEP_MS) return undefined;
    return next().then(() => {
      began = now();
    });
  };
}
