/** How the work on a key ended. */
export type Outcome =
  | { type: 'done' }
  /** Something went wrong that may pass: try again after a wait that grows with each failure. */
  | { type: 'retry'; error: unknown }
  /** Handle the key again after this time. Failures are forgotten, unless the key only waits before a retry. */
  | { type: 'retryAfter'; ms: number; keepsFailures?: boolean }
  /** Something is wrong that no retry changes: it is counted, and the key waits for its next change. */
  | { type: 'terminal'; error: unknown };

export const done: Outcome = { type: 'done' };

export function retry(error: unknown): Outcome {
  return { type: 'retry', error };
}

export function retryAfter(ms: number, { keepsFailures = false } = {}): Outcome {
  return { type: 'retryAfter', ms, ...(keepsFailures ? { keepsFailures } : {}) };
}

export function terminal(error: unknown): Outcome {
  return { type: 'terminal', error };
}
