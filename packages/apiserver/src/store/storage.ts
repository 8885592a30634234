import type { UnknownObject } from '@capstan/kube';

/** One accepted write: what was stored under a key, or that it was removed. */
export interface Change {
  revision: number;
  /** `group/plural`. */
  resource: string;
  key: string;
  /** Undefined when the key was removed. */
  object: UnknownObject | undefined;
}

export interface StoredState {
  revision: number;
  objects: Iterable<{ resource: string; key: string; object: UnknownObject }>;
}

/**
 * Where accepted writes are kept. The store itself is always in memory; a storage only remembers. The server answers a
 * request, and shows its events to watchers, only once everything that was appended before is durable, so a storage may
 * group many changes into one commit and nobody ever sees a write that a crash could take back.
 */
export interface Storage {
  load(): StoredState;
  append(change: Change): void;
  /** Undefined when everything appended so far is durable already, else a promise of that. */
  flush(): Promise<void> | undefined;
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
