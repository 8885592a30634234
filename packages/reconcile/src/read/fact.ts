// Facts: results of work outside the cluster (pulling a package, probing credentials, listing a remote cloud), read like
// anything else. A fact is a source with one row a key: the first read of an input starts the work and suspends; later
// results wake the readers.
import { reasonOf } from '@capstan/kube/cluster';

export interface FactDefinition<V, I = string, E = FactError> {
  readonly name: string;
  /** Does the work. Throwing is an answer too: the error becomes the fact's state and is retried with back-off. */
  fetch(input: I, context: { signal: AbortSignal; previous: V | undefined }): Promise<V>;
  /**
   * The readable part of the fact's key, in messages and causes; nothing secret. A text is its own label by default; any
   * other input is named by its digest, which is keyed where the input holds secret data.
   */
  label?(input: I): string;
  /** Returns the form in which readers see an error of `fetch`; `{ code, message }` by default, the code from errors that have one. */
  errorOf?(error: unknown): E;
  /**
   * Whether `fetch` only reads: it changes nothing outside, so that a plan may perform it before a change is made. False by default;
   * then a plan lists the fact as not known.
   */
  readonly readOnly?: boolean;
  /** Whether results are secret: readers' digests key them, causes show no values. False by default. */
  readonly sensitive?: boolean;
  /** So many fetches of this fact are under way at the same time; 32 by default. The others wait, first come, first served. */
  readonly concurrency?: number;
  /** Fetch again so long after the last result; never by default. */
  readonly refreshMs?: number;
  /** First wait after a failure; doubles with each one; 1,000 by default. */
  readonly retryMs?: number;
  /** Longest wait after failures; 300,000 by default. An error with `retryAfterMs` is waited for so long, up to ten minutes. */
  readonly maxRetryMs?: number;
  /** One attempt may take so long; 60,000 by default. */
  readonly timeoutMs?: number;
}

export interface FactState<V, E = FactError> {
  /** The last good result, if there ever was one. */
  readonly value: V | undefined;
  /** The error of the last attempt, if it failed. */
  readonly error: E | undefined;
}

/** An error as plain data, which readers compare, store and show. */
export interface FactError {
  /** From a closed set of the fact's own; `Failed` where the error has none. */
  readonly code: string;
  readonly message: string;
}

export function fact<V, I = string, E = FactError>(definition: FactDefinition<V, I, E>): FactDefinition<V, I, E> {
  return definition;
}

/** Any error as plain data, with its code where it has one. */
export function factError(error: unknown): FactError {
  return { code: codeOf(error), message: reasonOf(error) };
}

function codeOf(error: unknown): string {
  try {
    const { code } = (error ?? {}) as { code?: unknown };
    return typeof code === 'string' ? code : 'Failed';
  } catch {
    return 'Failed';
  }
}
