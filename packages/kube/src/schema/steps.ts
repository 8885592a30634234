// Work that takes longer than a request may block a process is a generator: its caller may serve others wherever it yields.

export type Steps<T> = Generator<void, T, void>;

/** Runs all steps without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (let next = steps.next(); ; next = steps.next()) if (next.done === true) return next.value;
}
