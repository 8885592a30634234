// An informer keeps an exact copy of one kind (and selection) of one cluster in memory and notifies its listeners of changes. It lists
// once, then watches until it is stopped. After any failure of the server it resumes where it was, or lists again and publishes only the
// difference. reflector.ts talks to the server, store.ts holds the copy and the rules of order, publisher.ts delivers changes, and
// failure.ts decides how to handle each error.
import type { Client } from '../client/client.ts';
import type { Clock, Random } from '../clock.ts';
import { type Kind, kindId } from '../kind.ts';
import type { Logger } from '../logger.ts';
import type { KubeObject, ObjectKey, ObjectRef } from '../object.ts';
import { compareResourceVersions } from '../resource-version.ts';
import { InformerErrors } from './errors.ts';
import type { FailureReason } from './failure.ts';
import { createIngest } from './ingest.ts';
import { type InformerObserver, safeObserver } from './observer.ts';
import { createPublisher } from './publisher.ts';
import { createReflector } from './reflector.ts';
import { type Selection, selectionOf } from './selection.ts';
import type { ServedKinds } from './served-kinds.ts';
import { type Change, createStore } from './store.ts';

export interface InformerOptions<T extends KubeObject> extends Selection {
  client: Client;
  kind: Kind<T>;
  /**
   * Removes parts of an object before it is cached, in addition to managedFields. It must keep name, namespace, uid and resourceVersion,
   * and must not change its argument. Default: nothing is removed.
   */
  trim?: (object: T) => T;
  /** False leaves cached objects unfrozen, which is only useful to measure the cost of freezing. Default: true. */
  freeze?: boolean;
  /** Only managedFields whose manager begins with one of these are kept. Default: none are kept. */
  ownManagers?: readonly string[];
  /** Objects with this label keep the entries of all managers, except those of subresources. Default: none do. */
  ownLabel?: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  observe?: InformerObserver;
  /** The kind may be missing on the server, and its absence is not reported. Default: false. */
  optional?: boolean;
  /** Waits for a kind that the server does not serve, together with others. Default: it asks for its own list again and again. */
  served?: ServedKinds;
  /** Objects per page where the server does not stream lists. Default 500. */
  pageSize?: number;
  /**
   * The shortest time that a watch is asked for; the longest is a third more. A deaf watch is noticed after that time. Default 30;
   * longer where the clock of a program runs ahead of its server's.
   */
  watchSeconds?: number;
  /** False never asks for a streamed list. Default true: asked for once, and never again when refused. */
  streaming?: boolean;
}

export type InformerEvent<T> =
  | Change<T>
  /** The copy is complete for the first time. */
  | { readonly type: 'synced' }
  | { readonly type: 'state'; readonly state: InformerState };

export interface InformerState {
  readonly phase: 'starting' | 'listing' | 'watching' | 'waiting' | 'stopped';
  /** Why the last attempt failed; kept while trying again, gone as soon as the server accepts a watch. */
  readonly reason?: FailureReason;
  readonly lastError?: string;
  /** When phase or reason last changed; milliseconds since the epoch. */
  readonly since: number;
}

/** The objects of a list that is under way. */
export interface ListProgress {
  readonly received: number;
  /** How many more there are, where the server counts them: about, because it may change meanwhile. */
  readonly remaining?: number;
}

/** The interface for readers of an informer. Its owner also has `run`. */
export interface InformerView<T extends KubeObject> {
  readonly kind: Kind<T>;
  /** True once the copy has been complete; stays true through later failures, see `staleness` and `state`. */
  readonly isSynced: boolean;
  /** Resolves when the copy is complete; rejects when the signal is aborted or the informer stops before. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Everything up to here is known. */
  readonly resourceVersion: string | undefined;
  /** Whether everything up to this resourceVersion is known; false where versions do not compare. */
  hasReached(resourceVersion: string): boolean;
  /** Milliseconds since the server last proved that the copy is current (list, event, bookmark, end of a watch); Infinity before the first list. */
  staleness(): number;
  /** The guard before destructive work. */
  isFresh(maxAgeMs: number): boolean;
  state(): InformerState;
  /** Undefined where no list is under way. */
  progress(): ListProgress | undefined;
  get(key: ObjectKey): T | undefined;
  /** All objects in the order of their keys. The array and the objects are shared, and frozen. */
  list(): readonly T[];
  readonly size: number;
  /**
   * Adds the answer to an own write to the copy at once, unless the copy is newer. Older versions that the watch brings later are ignored.
   */
  observeWrite(object: KubeObject): void;
  /**
   * Announces an object that is being sent to the server. If the watch shows it before the answer arrives, the copy still shares its parts,
   * so that plan and cache hold one object. The returned function ends the announcement.
   */
  sending(object: KubeObject): () => void;
  /** An own deletion that is complete (not one that waits for finalizers) leaves the copy at once. */
  observeDelete(ref: ObjectRef, uid: string, resourceVersion?: string): void;
  /** Adds a listener, which gets the current content before this call returns. Returns a function that ends the subscription. */
  subscribe(listener: (events: readonly InformerEvent<T>[]) => void): () => void;
  /** Tries again at once if it is waiting (a CRD was established, permissions were granted). */
  poke(): void;
}

export interface Informer<T extends KubeObject> extends InformerView<T> {
  /** Runs until the signal is aborted; resolves when everything has stopped. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { kind, clock } = options;
  const logger = options.logger.with({ informer: kindId(kind) });
  const ingest = createIngest({ ...options, logger });
  const store = createStore(ingest, clock);
  const observe = safeObserver(options.observe, logger);
  const publisher = createPublisher<InformerEvent<T>>((error) => {
    logger.error('a listener threw; the others were served', { error });
  });
  const isSelected = selectionOf(options);
  const waiting = new Set<{ resolve: () => void; reject: (error: Error) => void }>();
  let isSynced = false;
  let provenAt: number | undefined;
  let state: InformerState = { phase: 'starting', since: clock.now() };

  function become(next: Omit<InformerState, 'since'>): void {
    if (next.phase === state.phase && next.reason === state.reason && next.lastError === state.lastError) return;
    const isSame = next.phase === state.phase && next.reason === state.reason;
    state = { ...next, since: isSame ? state.since : clock.now() };
    publisher.publish([{ type: 'state', state }]);
  }

  const reflector = createReflector({
    ...options,
    logger,
    observe,
    ingest,
    store,
    become,
    state: () => state,
    proven(at) {
      provenAt = at;
    },
    changed(changes) {
      publisher.publish(changes);
    },
    listed(changes) {
      if (isSynced) return publisher.publish(changes);
      isSynced = true;
      publisher.publish([...changes, { type: 'synced' }]);
      for (const waiter of waiting) waiter.resolve();
    },
  });

  const informer: Informer<T> = {
    kind,
    get isSynced() {
      return isSynced;
    },
    synced(signal) {
      if (isSynced) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const end = () => {
          waiting.delete(waiter);
          signal?.removeEventListener('abort', onAbort);
        };
        const waiter = {
          resolve: () => {
            end();
            resolve();
          },
          reject: (error: Error) => {
            end();
            reject(error);
          },
        };
        const onAbort = () => waiter.reject(abortError(signal, kind));
        if (signal?.aborted || state.phase === 'stopped') return reject(abortError(signal, kind));
        signal?.addEventListener('abort', onAbort, { once: true });
        waiting.add(waiter);
      });
    },
    get resourceVersion() {
      return store.resourceVersion;
    },
    hasReached(resourceVersion) {
      const order = compareResourceVersions(store.resourceVersion, resourceVersion);
      return order !== undefined && order >= 0;
    },
    staleness: () => (provenAt === undefined ? Number.POSITIVE_INFINITY : clock.now() - provenAt),
    isFresh: (maxAgeMs) => isSynced && informer.staleness() <= maxAgeMs,
    state: () => state,
    progress: reflector.progress,
    get: store.get,
    list: store.list,
    get size() {
      return store.size;
    },
    sending: store.sending,
    observeWrite(object) {
      const changes: Change<T>[] = [];
      store.observeWrite(ingest.check(object), isSelected(object), changes);
      publisher.publish(changes);
    },
    observeDelete(ref, uid, resourceVersion) {
      const changes: Change<T>[] = [];
      store.observeDelete(ref, uid, resourceVersion, changes);
      publisher.publish(changes);
    },
    subscribe(listener) {
      return publisher.subscribe(listener, () => {
        const events: InformerEvent<T>[] = [];
        for (const [key, object] of store.entries()) events.push({ type: 'upsert', key, object, old: undefined });
        if (isSynced) events.push({ type: 'synced' });
        events.push({ type: 'state', state });
        return events;
      });
    },
    poke: reflector.poke,
    async run(signal) {
      await reflector.run(signal);
      become({ ...state, phase: 'stopped' });
      for (const waiter of waiting) waiter.reject(abortError(signal, kind));
    },
  };
  return informer;
}

function abortError(signal: AbortSignal | undefined, kind: Kind): Error {
  const reason: unknown = signal?.reason;
  if (reason instanceof Error) return reason;
  return InformerErrors.InformerStopped(kindId(kind));
}
