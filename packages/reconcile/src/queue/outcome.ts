/** How the work on a key ended. */
export type Outcome =
  | { type: 'done' }
  /** Something went wrong that may pass: try again after a wait that grows with each failure. */
  | { type: 'retry'; error: unknown }
  /** Look again after so long. Failures are forgotten, unless it only waits before it tries again what failed. */
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
