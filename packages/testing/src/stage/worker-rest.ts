// Keys and signatures are made by worker threads, which the virtual clock cannot see: to it, a program that waits for one
// looks like a program that waits for time, and a minute would pass before the key is there. So a busy program gets a
// moment of real time to go on by itself. One that is still busy then waits for the clock indeed, and is not waited for
// again until it has been idle.

const PATIENCE_MS = 250;
const POLL_MS = 1;

/** For a clock's `outside`: whether a busy program has gone on while time stood still. */
export function createWorkerRest(isBusy: () => boolean): () => Promise<boolean> {
  let waitsForTime = false;
  return async () => {
    if (!isBusy()) {
      waitsForTime = false;
      return false;
    }
    if (waitsForTime) return false;
    const end = performance.now() + PATIENCE_MS;
    while (isBusy() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    waitsForTime = isBusy();
    return !waitsForTime;
  };
}
