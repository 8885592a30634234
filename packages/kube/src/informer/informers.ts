import type { Client } from '../client/client.ts';
import type { Clock, Random } from '../clock.ts';
import { type Kind, kindId } from '../kind.ts';
import type { Logger } from '../logger.ts';
import type { KubeObject, ObjectRef } from '../object.ts';
import { InformerErrors } from './errors.ts';
import { createInformer, type Informer, type InformerView } from './informer.ts';
import type { InformerObserver } from './observer.ts';
import type { Selection } from './selection.ts';
import { createServedKinds } from './served-kinds.ts';

export interface InformersOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** See InformerOptions. */
  ownManagers?: readonly string[];
  /** Objects with this label keep the entries of all managers, except those of subresources. Default: none do. */
  ownLabel?: string;
  /** See InformerOptions. */
  freeze?: boolean;
  pageSize?: number;
  watchSeconds?: number;
  streaming?: boolean;
  /**
   * Removes parts of the objects of a kind before they are cached. All readers share the result. Default: only foreign managedFields are
   * removed.
   */
  trim?: <T extends KubeObject>(kind: Kind<T>, object: T) => T;
  observe?: (kind: Kind, selection: Selection) => InformerObserver;
  /** Which kinds may be missing; see InformerOptions. */
  isOptional?: (kind: Kind) => boolean;
  /** Stops them all, like close. */
  signal?: AbortSignal;
}

/** The informers of one cluster: one for each kind and selection, for any number of readers. */
export interface Informers {
  /** Returns the informer of this kind and selection. It starts with its first reader. */
  for<T extends KubeObject>(kind: Kind<T>, selection?: Selection): SharedInformer<T>;
  /** Returns the informers that run now. */
  all(): readonly InformerView<KubeObject>[];
  /** Passes an own write to every informer of its kind. */
  observeWrite(kind: Kind, object: KubeObject): void;
  observeDelete(kind: Kind, ref: ObjectRef, uid: string, resourceVersion?: string): void;
  /** Makes informers that wait for a retry retry at once: all of them, or those of one kind. */
  poke(kind?: Kind): void;
  /** Stops all informers and resolves when they have stopped. No informer can be created afterwards. */
  close(): Promise<void>;
}

export interface SharedInformer<T extends KubeObject> {
  readonly informer: InformerView<T>;
  /**
   * Ends this reader's use of the informer. The informer stops after its last reader has released it. Resolves once it has stopped, or at
   * once while other readers use it.
   */
  release(): Promise<void>;
}

export function createInformers(options: InformersOptions): Informers {
  const { trim, observe, isOptional, signal, ...common } = options;
  const served = createServedKinds(common);
  const running = new Map<string, Running>();
  const stopping = new Set<Promise<void>>();
  let isClosed = false;

  function start<T extends KubeObject>(id: string, kind: Kind<T>, selection: Selection): Running {
    const informer = createInformer<T>({
      ...common,
      ...selection,
      kind,
      served,
      optional: isOptional?.(kind) ?? false,
      ...(trim ? { trim: (object: T) => trim(kind, object) } : {}),
      ...(observe ? { observe: observe(kind, selection) } : {}),
    });
    const abort = new AbortController();
    const entry: Running = {
      id,
      kind,
      informer,
      users: 0,
      abort,
      done: informer.run(abort.signal),
    };
    running.set(id, entry);
    return entry;
  }

  function stop(entry: Running): Promise<void> {
    running.delete(entry.id);
    entry.abort.abort();
    const done = entry.done.finally(() => stopping.delete(done));
    stopping.add(done);
    return done;
  }

  function of(kind: Kind | undefined): Running[] {
    const all = [...running.values()];
    return kind ? all.filter((entry) => kindId(entry.kind) === kindId(kind)) : all;
  }

  const informers: Informers = {
    for<T extends KubeObject>(kind: Kind<T>, selection: Selection = {}) {
      if (isClosed) throw InformerErrors.InformersClosed(kindId(kind));
      const id = idOf(kind, selection);
      const entry = running.get(id) ?? start(id, kind, selection);
      entry.users++;
      let isReleased = false;
      return {
        // The id holds the kind, so this is the informer of that kind.
        informer: entry.informer as unknown as InformerView<T>,
        async release() {
          if (!isReleased) {
            isReleased = true;
            entry.users--;
          }
          if (entry.users === 0) await (running.get(id) === entry ? stop(entry) : entry.done);
        },
      };
    },
    all: () => [...running.values()].map(({ informer }) => informer),
    observeWrite(kind, object) {
      for (const { informer } of of(kind)) informer.observeWrite(object);
    },
    observeDelete(kind, ref, uid, resourceVersion) {
      for (const { informer } of of(kind)) informer.observeDelete(ref, uid, resourceVersion);
    },
    poke(kind) {
      for (const { informer } of of(kind)) informer.poke();
    },
    async close() {
      isClosed = true;
      signal?.removeEventListener('abort', onAbort);
      for (const entry of running.values()) void stop(entry);
      await Promise.all(stopping);
    },
  };
  const onAbort = () => void informers.close();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return informers;
}

interface Running {
  id: string;
  kind: Kind;
  informer: Informer<KubeObject>;
  users: number;
  abort: AbortController;
  done: Promise<void>;
}

function idOf(kind: Kind, { namespace, labelSelector, fieldSelector, metadataOnly }: Selection): string {
  return JSON.stringify([
    kind.group,
    kind.version,
    kind.plural,
    namespace ?? '',
    labelSelector ?? '',
    fieldSelector ?? '',
    metadataOnly ?? false,
  ]);
}
