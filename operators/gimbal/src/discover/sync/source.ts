import type { Finding } from '../mirror/mirror.ts';
import type { Problem } from '../mirror/problem.ts';

/** The remote side, whatever it is: what is there, under the keys (`namespace/name`) that things have in this cluster. */
export interface Source {
  /** The picture has been complete once. */
  readonly isSynced: boolean;
  /** The remote side confirms the picture at the moment. While it does not, nothing is written here: what was discovered stays. */
  readonly isLive: boolean;
  /** Why it is not live. */
  readonly failure: Problem | undefined;
  /** What must stay the same when credentials change; undefined where the remote side does not tell. */
  readonly identity: string | undefined;
  /** All keys of which something is there. */
  keys(): Iterable<string>;
  find(key: string): Finding;
  /** Problems that concern no single key (a project whose name is no namespace). */
  problems(): readonly Problem[];
  subscribe(listener: SourceListener): () => void;
  /** Until the signal is aborted; settles when everything has stopped. */
  run(signal: AbortSignal): Promise<void>;
}

export interface SourceListener {
  /** These may have changed. */
  changed(keys: ReadonlySet<string>): void;
  /** isSynced, isLive or failure may have changed. */
  state(): void;
  /** The remote side was checked as a whole once more, or has been watched for as long. */
  cycle(): void;
}

/** Notifies several listeners; one that throws does not prevent the others from being notified. */
export function createListeners(): SourceListener & { add(listener: SourceListener): () => void } {
  const listeners = new Set<SourceListener>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed(keys) {
      if (keys.size > 0) for (const listener of listeners) listener.changed(keys);
    },
    state() {
      for (const listener of listeners) listener.state();
    },
    cycle() {
      for (const listener of listeners) listener.cycle();
    },
  };
}
