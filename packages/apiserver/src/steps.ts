// Work of a request with tens of thousands of values is divided into steps. A small request runs all of them at once.

/** Work that is done in steps: other requests may be served wherever it yields. */
export type Steps<T> = Generator<void, T, void>;

/** Lets other requests be served in the middle of a large one; undefined: go on at once. */
export type Pause = () => Promise<void> | undefined;

/** Runs all steps; pauses between them where `pause` asks for it, and returns a promise then. */
export function inTurns<T>(steps: Steps<T>, pause: Pause): T | Promise<T> {
  for (let next = steps.next(); ; next = steps.next()) {
    if (next.done === true) return next.value;
    const paused = pause();
    if (paused) return afterPause(steps, pause, paused);
  }
}

async function afterPause<T>(steps: Steps<T>, pause: Pause, paused: Promise<void>): Promise<T> {
  await paused;
  for (let next = steps.next(); ; next = steps.next()) {
    if (next.done === true) return next.value;
    await pause();
  }
}

/** Runs all steps without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (let next = steps.next(); ; next = steps.next()) if (next.done === true) return next.value;
}
