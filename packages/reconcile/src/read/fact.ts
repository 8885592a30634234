// Facts: results of work outside the cluster (pulling a package, probing credentials, listing a remote cloud), read like
// anything else. The first read of a key starts the work and suspends; later results wake the readers.

export interface FactDefinition<V> {
  readonly name: string;
  /** Does the work. Throwing is an answer too: the error becomes the fact's state and is retried with back-off. */
  fetch(key: string, context: { signal: AbortSignal; previous: V | undefined }): Promise<V>;
  /** Fetch again so long after the last result; never by default. */
  readonly refreshMs?: number;
  /** First wait after a failure; doubles with each one; 1,000 by default. */
  readonly retryMs?: number;
  /** Longest wait after failures; 300,000 by default. An error with `retryAfterMs` is waited for so long, up to ten minutes. */
  readonly maxRetryMs?: number;
  /** One attempt may take so long; 60,000 by default. */
  readonly timeoutMs?: number;
  /** So many fetches of this fact are under way at the same time; 32 by default. The others wait, first come, first served. */
  readonly concurrency?: number;
  /** Keep the last result across restarts (plain JSON, nothing secret); false by default. */
  readonly durable?: boolean;
}

export interface FactState<V> {
  /** The last good result, if there ever was one. */
  readonly value: V | undefined;
  /** The message of the last attempt, if it failed. */
  readonly error: string | undefined;
}

export function fact<V>(definition: FactDefinition<V>): FactDefinition<V> {
  return definition;
}
