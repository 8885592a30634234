// A world is one cluster as the caches see it: a table per kind, fed by informers, and the client that writes to it.
import { type Client, type InformerView, type Kind, type KubeObject, keyOfObject, kindId } from '@capstan/kube/cluster';
import type { Target } from '../apply/index.ts';
import type { Index, Table } from '../engine/index.ts';
import {
  INVENTORY_LABEL,
  MEMORY_ANNOTATION_PREFIX,
  ORIGINAL_ANNOTATION_PREFIX,
  SHARED_ANNOTATION_PREFIX,
} from '../marks.ts';
import type { Access, KindIndex, WatchProblem } from '../read/index.ts';
import { createKindCaches, isWhole, type KindCache, type KindCachesOptions } from './kind-caches.ts';
import { type Origin, originAmong } from './views.ts';

/** A kind whose list is still to come. */
export interface FillingKind {
  /** `Kind.group`. */
  readonly kind: string;
  readonly received: number;
  /** About, and only where the server counts. */
  readonly remaining?: number;
  /** The error of the last attempt. */
  readonly problem?: string;
}

export interface WorldOptions extends KindCachesOptions {
  /** Writes of an operator, under an account of its own; by `client`, which reads, without it. */
  clientFor?: (operator: string) => Client;
}

export interface World extends Target {
  readonly name: string;
  /** Returns the target of an operator's writes: the same caches, and its own account. */
  targetFor(operator: string): Target;
  /** The kinds that the caches have, or get when a part that needs them is switched on. */
  readonly kinds: readonly Kind[];
  /** The object that a normalised one was built from, and the kind under which it was written. */
  originOf(kind: Kind, view: KubeObject): Origin;
  /** The table that reads of a kind go to; undefined when no reconciler declares reading it. */
  readTable(kind: Kind): Table<KubeObject> | undefined;
  /** The only names of a kind that are read; undefined: all. */
  readsOnly(kind: Kind): readonly string[] | undefined;
  /** Whether reads of a kind reach into a namespace: where none do, no object may be taken for absent. */
  covers(kind: Kind, namespace: string | undefined): boolean;
  /** Never known: reads outside the watched namespaces wait for it. */
  readonly beyond: Table<KubeObject>;
  /** The table in which our own children of a kind are. */
  childTable(kind: Kind): Table<KubeObject> | undefined;
  /** Whether the cache holds all of an object of a kind, and not only the fields that its readers declare. */
  keepsWhole(kind: Kind): boolean;
  /** Objects that carry annotations of an inventory: originals of patched fields, or digests of shared ones. */
  markIndex(kind: Kind): Index<KubeObject> | undefined;
  indexOf(index: KindIndex): Index<KubeObject> | undefined;
  /** Returns the objects that Kubernetes' garbage collector would remove with an object, among the cached children. */
  ownedBy(owner: KubeObject): readonly { kind: Kind; object: KubeObject }[];
  /** Every child of ours that is cached. */
  children(): readonly { kind: Kind; object: KubeObject }[];
  /** Everything that reads of a kind would find now, in no order; untracked: for metrics and for people, never for plans. */
  peek(kind: Kind): readonly KubeObject[];
  /** By kind id: whether the kind can be read. */
  readonly access: Table<Access>;
  /** The problem of each watch, by kind id; none while it is open. */
  readonly watchProblems: Table<WatchProblem>;
  /** True once every kind that is not optional has been listed. */
  readonly isSynced: boolean;
  /** True while every informer has an open watch. */
  readonly isCurrent: boolean;
  /** Returns the kinds that are not listed yet, with the reasons. */
  waitingFor(): string[];
  /** Returns the kinds whose list is still to come: not those that the server does not serve, or does not show. */
  filling(): FillingKind[];
  /** Whether the caches of these kinds are recent enough to delete on. */
  isFresh(kinds: readonly Kind[], maxAgeMs: number): boolean;
  staleness(): ReadonlyMap<string, number>;
  /** Tries kinds that are not served or forbidden again at once. */
  poke(): void;
  /** Caches the kinds that an optional part needs, until the returned function is called. */
  use(kindIds: readonly string[]): () => void;
  /** Stops informers; everything in the tables becomes unknown. */
  stop(): Promise<void>;
}

export function createWorld(options: WorldOptions): World {
  const { engine, client, name } = options;
  const caches = createKindCaches(options);
  const { access, views, of } = caches;
  const kinds = caches.all;
  const beyond = engine.table<KubeObject>({ name: BEYOND });

  /** An optional kind that the server does not serve or show: there is nothing of it to be late with. */
  const isDoneWithout = (kind: Kind) => {
    const known = access.peek(kindId(kind));
    return of(kind)?.requirement.optional === true && known !== undefined && known !== 'served';
  };

  const sending = (kind: Kind, object: KubeObject) => {
    const ends = Array.from(caches.feedsOf(kind), (feed) => feed.sending(object));
    return () => {
      for (const end of ends) end();
    };
  };
  const observeWrite = (kind: Kind, object: KubeObject) => {
    for (const feed of caches.feedsOf(kind)) feed.observeWrite(object);
  };
  const observeDelete = (kind: Kind, object: KubeObject) => {
    for (const feed of caches.feedsOf(kind)) feed.observeDelete(object);
  };

  return {
    name,
    client,
    kinds: [...kinds.values()].map(({ requirement }) => requirement.kind),
    targetFor: (operator) => ({
      client: options.clientFor?.(operator) ?? client,
      sending,
      observeWrite,
      observeDelete,
    }),
    access,
    watchProblems: caches.watchProblems,
    originOf(kind, view) {
      const key = keyOfObject(view);
      const known = views.originOf(view);
      return (
        known ??
        originAmong(
          kind,
          view,
          (of(kind)?.informers ?? []).map((informer) => informer.get(key)),
        )
      );
    },
    beyond,
    covers(kind, namespace) {
      const found = of(kind);
      if (found === undefined || namespace === undefined || kind.scope === 'Cluster') return true;
      const places = caches.namespacesOf(found);
      return places.includes(undefined) || places.includes(namespace);
    },
    readsOnly: (kind) => of(kind)?.requirement.names,
    readTable: (kind) => of(kind)?.tables.read,
    childTable: (kind) => of(kind)?.tables.children,
    keepsWhole: (kind) => of(kind)?.requirement.fields === undefined,
    markIndex(kind) {
      const found = of(kind);
      if (found === undefined || !isWhole(found.requirement) || found.tables.read === undefined) return undefined;
      return indexIn(found, found.tables.read, 'inventory marks', inventoriesMarked);
    },
    indexOf(index) {
      const found = of(index.kind);
      if (found?.tables.read === undefined) return undefined;
      return indexIn(found, found.tables.read, index.name, index.keysOf);
    },
    peek(kind) {
      const found = of(kind);
      const table = found?.tables.read;
      const keys = new Set(found?.informers.flatMap((informer) => informer.list().map(keyOfObject)));
      return [...keys].flatMap((key) => table?.peek(key) ?? []);
    },
    ownedBy(owner) {
      const { uid } = owner.metadata;
      const isOwned = (object: KubeObject) =>
        object.metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false;
      return [...kinds.values()].flatMap(({ requirement: { kind, children }, informers: opened }) =>
        children
          ? [...new Set(opened.flatMap((informer) => informer.list().filter(isOwned)))].map((object) => ({
              kind,
              object,
            }))
          : [],
      );
    },
    children: () =>
      [...kinds.values()].flatMap(({ requirement: { kind, children: hasChildren }, informers: opened }) =>
        hasChildren
          ? [...new Set(opened.flatMap((informer) => informer.list().filter(isChild)))].map((object) => ({
              kind,
              object,
            }))
          : [],
      ),
    observeWrite,
    observeDelete,
    get isSynced() {
      return [...kinds.values()].every(
        ({ requirement, informers: opened }) => requirement.optional || opened.every(caches.isReady),
      );
    },
    get isCurrent() {
      return [...kinds.values()].every(({ informers: opened }) => opened.every(caches.isWatching));
    },
    waitingFor() {
      return [...kinds.values()]
        .filter(({ informers: opened }) => !opened.every(caches.isReady))
        .map(({ requirement, informers: opened }) => {
          const failure = opened.map((informer) => informer.state().lastError).find((error) => error !== undefined);
          return `${kindId(requirement.kind)}${failure === undefined ? '' : `: ${failure}`}`;
        });
    },
    filling() {
      return [...kinds].flatMap(([id, { informers: opened }]) => {
        const known = access.peek(id);
        if (known === 'not-served' || known === 'forbidden' || opened.every(caches.isReady)) return [];
        return [fillingKind(id, opened)];
      });
    },
    isFresh: (wanted, maxAgeMs) =>
      wanted.every((kind) => isDoneWithout(kind) || [...caches.feedsOf(kind)].every((feed) => feed.isFresh(maxAgeMs))),
    staleness: () =>
      new Map(
        [...kinds].map(([id, { read, children }]) => [
          id,
          Math.max(read?.staleness() ?? 0, children?.staleness() ?? 0),
        ]),
      ),
    poke() {
      for (const { informers: opened } of kinds.values()) for (const informer of opened) informer.poke();
    },
    use: caches.use,
    async stop() {
      engine.retire(beyond);
      await caches.stop();
    },
  };

  function indexIn(
    found: KindCache,
    table: Table<KubeObject>,
    indexName: string,
    keysOf: (object: KubeObject) => readonly string[],
  ) {
    const existing = found.indexes.get(keysOf);
    if (existing !== undefined) return existing;
    const twins = [...found.indexes.values()].filter(({ name: known }) => known.split('#')[0] === indexName).length;
    const created = engine.index(table, twins === 0 ? indexName : `${indexName}#${twins + 1}`, keysOf);
    found.indexes.set(keysOf, created);
    return created;
  }
}

function fillingKind(kind: string, informers: readonly InformerView<KubeObject>[]): FillingKind {
  const lists = informers.map((informer) => informer.progress());
  // The total is known once every list that is under way has it.
  const isCounted = lists.every((list, at) => list?.remaining !== undefined || informers[at]?.isSynced === true);
  const received = lists.map((list, at) => list?.received ?? informers[at]?.size ?? 0).reduce((a, b) => a + b, 0);
  const remaining = lists.reduce((sum, list) => sum + (list?.remaining ?? 0), 0);
  const problem = informers.map((informer) => informer.state().lastError).find((error) => error !== undefined);
  return { kind, received, ...(isCounted && { remaining }), ...(problem !== undefined && { problem }) };
}

function isChild(object: KubeObject): boolean {
  return object.metadata.labels?.[INVENTORY_LABEL] !== undefined;
}

/** The name of these tables in all worlds, for the unknowns of a reconcile. */
export const BEYOND = 'outside the watched namespaces';

/** The inventories whose annotations a foreign object carries. */
export function inventoriesMarked(object: KubeObject): readonly string[] {
  const { annotations } = object.metadata;
  if (annotations === undefined) return [];
  const found: string[] = [];
  for (const name of Object.keys(annotations)) {
    for (const prefix of [ORIGINAL_ANNOTATION_PREFIX, SHARED_ANNOTATION_PREFIX, MEMORY_ANNOTATION_PREFIX]) {
      if (name.startsWith(prefix)) found.push(name.slice(prefix.length));
    }
  }
  return found;
}
