// Sources: something outside the cluster that pushes typed rows (acknowledgements of a peer, the state of cables, bound
// sockets, files on disk, another server's inventory). Rows are read and tracked like objects.
import type { Clock, Logger } from '@capstan/kube/cluster';
import type { FactError } from './fact.ts';

export interface SourceDefinition<V> {
  readonly name: string;
  /** Whether rows are secret: readers' digests key them, causes show no values. False by default. */
  readonly sensitive?: boolean;
  /**
   * So long after it was opened it must be complete; else its signal is aborted, and it is opened again with back-off. 300,000 by
   * default.
   */
  readonly timeoutMs?: number;
  /** The waits before it is opened again, each up to half less; from 1,000 to 60,000 by default. */
  readonly backOff?: { readonly firstMs: number; readonly longestMs: number };
  /**
   * Opened when something reads the source, closed when nothing does. Runs until the signal is aborted; returning or
   * throwing before that closes the source: its rows stay, marked stale, and it is opened again with back-off.
   */
  open(context: SourceContext<V>): Promise<void>;
}

export interface SourceContext<V> {
  readonly table: SourceTable<V>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The table for the rows of a source. Rows that were put before `complete()` are not shown until then. */
export interface SourceTable<V> {
  put(key: string, row: V): void;
  delete(key: string): void;
  /** Applies the changes of the function at once: no reader sees a part of them. The function is synchronous. */
  batch(apply: () => void): void;
  /**
   * The rows are all that there is: unknown becomes known, and rows of an earlier opening that were not put again go. Called again, it
   * confirms that the rows are still all that there is.
   */
  complete(): void;
}

export interface SourceState {
  /** True while the source is closed or has not been complete since it was opened again: rows may be out of date. */
  readonly isStale: boolean;
  /** Why it was closed last; undefined once it is complete again. */
  readonly error: FactError | undefined;
}

/** Reads of one source; all of them are tracked, and wait for its first complete state. */
export interface SourceReader<V> {
  get(key: string): V | undefined;
  get<P>(key: string, project: (row: V) => P): P | undefined;
  /** Sorted by key. */
  rows(): readonly SourceRow<V>[];
  keys(): readonly string[];
  /** Never waits: a source that was not complete yet is stale. */
  state(): SourceState;
  /** When the source was last complete, in milliseconds since the epoch: wakes its readers with every call of `complete`. */
  completedAt(): number;
}

export interface SourceRow<V> {
  readonly key: string;
  readonly row: V;
}

export function source<V>(definition: SourceDefinition<V>): SourceDefinition<V> {
  return definition;
}
