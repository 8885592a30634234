import type { UnknownObject } from '@capstan/kube';
import type { StoreEvent } from './history.ts';

/** One accepted write: the object that was stored under a key, or its removal. */
export interface Change {
  revision: number;
  /** `group/plural`. */
  resource: string;
  key: string;
  /** Undefined when the key was removed. */
  object: UnknownObject | undefined;
  /** The revision of the former object; undefined if there was none. */
  previous?: number;
}

export interface StoredState {
  revision: number;
  objects: Iterable<{ resource: string; key: string; object: UnknownObject }>;
  /** The recent past, oldest first, so that watches go on after a restart; default none. */
  events?: readonly StoreEvent[];
  /** The highest revision whose event may be missing; default all of them. */
  compacted?: number;
}

/**
 * Where accepted writes are kept. The store itself is always in memory; a storage only remembers. The server answers a
 * request, and shows its events to watchers, only once everything that was appended before is durable, so a storage may
 * group many changes into one commit, and no client ever sees a write that a crash could take back.
 */
export interface Storage {
  load(): StoredState;
  append(change: Change): void;
  /** Undefined when everything appended so far is durable already, else a promise of that. */
  flush(): Promise<void> | undefined;
  /** The newest revision that is durable; default: only `flush` knows. */
  readonly kept?: number;
  /**
   * Sets the function that is called, before a flush is rejected, when the changes after a revision could not be made durable. They never
   * will be: the store takes them back.
   */
  onLoss?(call: (kept: number) => void): void;
  /** The JSON of an object that has just been appended, until the turn of the event loop in which it became durable is over. */
  jsonOf?(object: unknown): string | undefined;
  /** Called when nothing asks for the past up to this revision any more. */
  compact?(revision: number): void;
  close(): Promise<void>;
}

/** Remembers nothing beyond the process. */
export function memoryStorage(): Storage {
  return {
    load: () => ({ revision: 1, objects: [] }),
    append() {},
    flush: () => undefined,
    close: () => Promise.resolve(),
  };
}
