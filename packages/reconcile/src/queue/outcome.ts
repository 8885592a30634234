/** How the work on a key ended. */
export type Outcome =
  | { type: 'done' }
  /** Something went wrong that may pass: try again after a wait that grows with each failure. */
  | { type: 'retry'; error: unknown }
  /** All is well; look again after so long. */
  | { type: 'retryAfter'; ms: number }
  /** Something is wrong that no retry changes: it is counted, and the key waits for its next change. */
  | { type: 'terminal'; error: unknown };

export const done: Outcome = { type: 'done' };

export function retry(error: unknown): Outcome {
  return { type: 'retry', error };
}

export function retryAfter(ms: number): Outcome {
  return { type: 'retryAfter', ms };
}

export function terminal(error: unknown): Outcome {
  return { type: 'terminal', error };
}
