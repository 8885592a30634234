// A world is one cluster as the caches see it: a table per kind, fed by informers, and the client that writes to it.
import {
  type Client,
  type Clock,
  CustomResourceDefinition,
  createInformers,
  type InformerObserver,
  type InformerView,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  type Logger,
  type Random,
  type Selection,
  type SharedInformer,
} from '@capstan/kube';
import type { Target } from '../apply/index.ts';
import type { Engine, Index, Table } from '../engine/index.ts';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import {
  INVENTORY_LABEL,
  MEMORY_ANNOTATION_PREFIX,
  ORIGINAL_ANNOTATION_PREFIX,
  SHARED_ANNOTATION_PREFIX,
} from '../marks.ts';
import type { Access, KindIndex } from '../read/index.ts';
import { createFeed, type Feed } from './feed.ts';
import { createReferencedFeed } from './referenced-feed.ts';
import type { KindRequirement } from './requirements.ts';
import { createViews, type Origin, originAmong, writtenKinds } from './views.ts';

export interface WorldOptions {
  /** Unique; part of every key, and the same from one start to the next. */
  name: string;
  engine: Engine;
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  requirements: ReadonlyMap<string, KindRequirement>;
  /** Restrict namespaced kinds to these; all namespaces by default. */
  watchNamespaces?: readonly string[];
  /** The operator's own namespace, for reads that reach no further. */
  namespace?: string;
  observe?: (kind: Kind) => InformerObserver;
}

export interface World extends Target {
  readonly name: string;
  /** The object that a normalised one was made of, and the kind under which it was written. */
  originOf(kind: Kind, view: KubeObject): Origin;
  /** The table that reads of a kind go to; undefined when nobody declared reading it. */
  readTable(kind: Kind): Table<KubeObject> | undefined;
  /** Whether reads of a kind reach into a namespace: where none do, nothing may be said to be absent. */
  covers(kind: Kind, namespace: string | undefined): boolean;
  /** Never known: what reads outside the watched namespaces wait for. */
  readonly beyond: Table<KubeObject>;
  /** The table in which our own children of a kind are. */
  childTable(kind: Kind): Table<KubeObject> | undefined;
  /** Objects that carry annotations of an inventory: originals of patched fields, or what is shared in them. */
  markIndex(kind: Kind): Index<KubeObject> | undefined;
  indexOf(index: KindIndex): Index<KubeObject> | undefined;
  /** What Kubernetes' garbage collector would remove with an object, among the children that are cached. */
  ownedBy(owner: KubeObject): readonly { kind: Kind; object: KubeObject }[];
  /** Every child of ours that is cached. */
  children(): readonly { kind: Kind; object: KubeObject }[];
  /** Everything that reads of a kind would find now, in no order; untracked: for metrics and for people, never for plans. */
  peek(kind: Kind): readonly KubeObject[];
  /** By kind id: whether the kind can be read. */
  readonly access: Table<Access>;
  /** True once every kind that is not optional has been listed. */
  readonly isSynced: boolean;
  /** True while every informer has an open watch. */
  readonly isCurrent: boolean;
  /** What is not listed yet, and why. */
  waitingFor(): string[];
  /** Whether the caches of these kinds are recent enough to delete on. */
  isFresh(kinds: readonly Kind[], maxAgeMs: number): boolean;
  staleness(): ReadonlyMap<string, number>;
  /** Tries kinds that are not served or forbidden again at once. */
  poke(): void;
  /** Caches what a part needs that can be switched off, until the function that it returns is called. */
  use(kindIds: readonly string[]): () => void;
  /** Stops informers; everything in the tables becomes unknown. */
  stop(): Promise<void>;
}

interface KindState {
  readonly requirement: KindRequirement;
  /** The same from one opening to the next. */
  readonly tables: { readonly read: Table<KubeObject> | undefined; readonly children: Table<KubeObject> | undefined };
  /** Undefined while the kind is not cached. */
  read: Feed | undefined;
  children: Feed | undefined;
  informers: readonly InformerView<KubeObject>[];
  /** Ends what the opening began. */
  closing: (() => void)[];
  /** How many parts that can be switched off are on and need it. */
  users: number;
  /** By the function that finds the keys: two indexes may have one name. */
  readonly indexes: Map<(object: KubeObject) => readonly string[], Index<KubeObject>>;
}

export function createWorld(options: WorldOptions): World {
  const { engine, client, name, logger } = options;
  const stopping = new AbortController();
  const informers = createInformers({
    client,
    clock: options.clock,
    random: options.random,
    logger,
    ownManagers: [FIELD_MANAGER_PREFIX],
    trim: (kind, object) => (options.requirements.get(kindId(kind))?.trim?.(object) ?? object) as typeof object,
    isOptional: (kind) => options.requirements.get(kindId(kind))?.optional === true,
    ...(options.observe ? { observe: options.observe } : {}),
  });
  const views = createViews(logger);
  const access = engine.table<Access>({ name: `access to kinds of ${name}` });
  const beyond = engine.table<KubeObject>({ name: BEYOND });
  const kinds = new Map<string, KindState>();
  const aliasInformers = new Set<InformerView<KubeObject>>();
  /** Another name of a kind that the server does not know has no objects; the kind itself can be waited for. */
  const isMissingAlias = (informer: InformerView<KubeObject>) =>
    aliasInformers.has(informer) && informer.state().reason === 'NotServed';
  const isReady = (informer: InformerView<KubeObject>) => informer.isSynced || isMissingAlias(informer);
  const stops: (() => void)[] = [];
  for (const [id, requirement] of options.requirements) {
    const state = createKind(requirement);
    kinds.set(id, state);
    if (!requirement.conditional) openKind(state);
  }
  watchDefinitions();

  function createKind(requirement: KindRequirement): KindState {
    const { kind, reads } = requirement;
    const tableFor = (label: string) =>
      engine.table<KubeObject>({
        name: label,
        labels: (object) => object.metadata.labels,
        ...(kind.sensitive ? { sensitive: true } : {}),
      });
    const isCovered = reads === 'all';
    // What is referenced is opened here: its table knows what is read of it, and metadata alone is cached meanwhile.
    const referenced = reads === 'referenced' ? openReferenced(kind, namespacesFor(requirement)) : undefined;
    const read = referenced?.feed.table ?? (reads === undefined ? undefined : tableFor(tableName(kind)));
    const own = requirement.children && !isCovered ? tableFor(`our ${tableName(kind)}`) : undefined;
    return {
      requirement,
      tables: { read, children: own ?? (isCovered ? read : undefined) },
      read: referenced?.feed,
      children: undefined,
      informers: referenced?.metadata ?? [],
      closing: [],
      users: 0,
      indexes: new Map(),
    };
  }

  function openReferenced(kind: Kind, namespaces: readonly (string | undefined)[]) {
    const metadata = openInformers(kind, { metadataOnly: true }, namespaces).map(({ informer }) => informer);
    const common = { engine, name: tableName(kind), kind, client, clock: options.clock, logger, metadata };
    return { metadata, feed: createReferencedFeed({ ...common, signal: stopping.signal }) };
  }

  function openInformers(
    kind: Kind,
    selection: Selection,
    places: readonly (string | undefined)[],
    written: readonly Kind[] = [kind],
  ): readonly SharedInformer<KubeObject>[] {
    return written.flatMap((source) =>
      places.map((namespace) => {
        const shared = informers.for(source, namespace === undefined ? selection : { ...selection, namespace });
        if (source !== kind) aliasInformers.add(shared.informer);
        return shared;
      }),
    );
  }

  function openKind(state: KindState): void {
    const { kind, reads } = state.requirement;
    const opened = [...state.informers];
    const feed = (
      table: Table<KubeObject>,
      shared: readonly SharedInformer<KubeObject>[],
      view?: (object: KubeObject) => KubeObject,
    ): Feed => {
      const sources = shared.map(({ informer }) => informer);
      opened.push(...sources);
      const made = createFeed(table, sources, view, view === undefined ? undefined : isReady);
      state.closing.push(() => {
        made.stop();
        table.drop('unknown');
        for (const { release } of shared) void release();
      });
      return made;
    };
    const { read, children } = state.tables;
    if (read !== undefined && reads !== 'referenced') {
      const view = (object: KubeObject) => views.viewOf(kind, object);
      const shared = openInformers(kind, {}, namespacesFor(state.requirement), writtenKinds(kind));
      state.read = feed(read, shared, view);
    }
    if (children !== undefined && children !== read) {
      const shared = openInformers(kind, { labelSelector: INVENTORY_LABEL }, allNamespaces(kind));
      state.children = feed(children, shared);
    } else if (children !== undefined) state.children = state.read;
    state.informers = opened;
    state.closing.push(watchAccess(kind, opened));
  }

  function closeKind(state: KindState): void {
    for (const close of state.closing) close();
    state.closing = [];
    access.forget(kindId(state.requirement.kind));
    if (state.requirement.reads === 'referenced') {
      state.children = undefined;
      return;
    }
    state.read = undefined;
    state.children = undefined;
    state.informers = [];
  }

  function tableName(kind: Kind): string {
    return name === '' ? kindId(kind) : `${name}/${kindId(kind)}`;
  }

  function allNamespaces(kind: Kind): readonly (string | undefined)[] {
    return kind.scope === 'Namespaced' && options.watchNamespaces !== undefined ? options.watchNamespaces : [undefined];
  }

  function namespacesFor({ kind, reads }: KindRequirement): readonly (string | undefined)[] {
    return reads === 'ownNamespace' && kind.scope === 'Namespaced'
      ? [options.namespace ?? 'default']
      : allNamespaces(kind);
  }

  /** Forbidden and not-served are values that can be read, and the reason why everything else about the kind suspends. */
  function watchAccess(kind: Kind, opened: readonly InformerView<KubeObject>[]): () => void {
    const judge = () => {
      const reasons = opened.filter((informer) => !isMissingAlias(informer)).map((informer) => informer.state().reason);
      if (reasons.includes('NotServed')) access.put(kindId(kind), 'not-served');
      else if (reasons.includes('Forbidden')) access.put(kindId(kind), 'forbidden');
      else if (opened.every(isReady)) access.put(kindId(kind), 'served');
    };
    const ends = opened.map((informer) => informer.subscribe(judge));
    judge();
    return () => {
      for (const end of ends) end();
    };
  }

  /** Where definitions of kinds are read, a kind that has just been installed need not wait for its next turn. */
  function watchDefinitions(): void {
    const definitions = kinds.get(kindId(CustomResourceDefinition))?.informers ?? [];
    for (const informer of definitions)
      stops.push(
        informer.subscribe((events) => {
          const names = new Set(
            events.flatMap((event) => (event.type === 'upsert' ? (event.object.metadata.name ?? []) : [])),
          );
          if (names.size > 0) pokeDefined(names);
        }),
      );
  }

  function pokeDefined(names: ReadonlySet<string>): void {
    for (const { requirement, informers: opened } of kinds.values()) {
      if (!writtenKinds(requirement.kind).some(({ plural, group }) => names.has(`${plural}.${group}`))) continue;
      for (const informer of opened) if (informer.state().reason === 'NotServed') informer.poke();
    }
  }

  /** Aliases share the state of the kind that they are a view of, unless somebody reads them under their own name too. */
  const aliases = new Map<string, KindState>();
  for (const found of kinds.values())
    for (const kind of writtenKinds(found.requirement.kind)) aliases.set(kindId(kind), found);
  const state = (kind: Kind) => kinds.get(kindId(kind)) ?? aliases.get(kindId(kind));
  const feeds = function* (kind: Kind): Generator<Feed> {
    const found = state(kind);
    if (found?.read) yield found.read;
    if (found?.children && found.children !== found.read) yield found.children;
  };

  /** A kind that nobody needs, and that the server does not serve or show: there is nothing of it to be late with. */
  const isDoneWithout = (kind: Kind) => {
    const known = access.peek(kindId(kind));
    return state(kind)?.requirement.optional === true && known !== undefined && known !== 'served';
  };

  return {
    name,
    client,
    access,
    originOf(kind, view) {
      const key = keyOfObject(view);
      const known = views.originOf(view);
      return (
        known ??
        originAmong(
          kind,
          view,
          (state(kind)?.informers ?? []).map((informer) => informer.get(key)),
        )
      );
    },
    beyond,
    covers(kind, namespace) {
      const found = state(kind);
      if (found === undefined || namespace === undefined || kind.scope === 'Cluster') return true;
      const places = found.tables.read === undefined ? allNamespaces(kind) : namespacesFor(found.requirement);
      return places.includes(undefined) || places.includes(namespace);
    },
    readTable: (kind) => state(kind)?.tables.read,
    childTable: (kind) => state(kind)?.tables.children,
    markIndex(kind) {
      const found = state(kind);
      if (found?.requirement.reads !== 'all' || found.tables.read === undefined) return undefined;
      return indexIn(found, found.tables.read, 'inventory marks', inventoriesMarked);
    },
    indexOf(index) {
      const found = state(index.kind);
      if (found?.tables.read === undefined) return undefined;
      return indexIn(found, found.tables.read, index.name, index.keysOf);
    },
    peek(kind) {
      const found = state(kind);
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
    observeWrite(kind, object) {
      for (const feed of feeds(kind)) feed.observeWrite(object);
    },
    observeDelete(kind, object) {
      for (const feed of feeds(kind)) feed.observeDelete(object);
    },
    get isSynced() {
      return [...kinds.values()].every(
        ({ requirement, informers: opened }) => requirement.optional || opened.every(isReady),
      );
    },
    get isCurrent() {
      return [...kinds.values()].every(({ informers: opened }) =>
        opened.every((informer) => informer.state().phase === 'watching' || isMissingAlias(informer)),
      );
    },
    waitingFor() {
      return [...kinds.values()]
        .filter(({ informers: opened }) => !opened.every(isReady))
        .map(({ requirement, informers: opened }) => {
          const trouble = opened.map((informer) => informer.state().lastError).find((error) => error !== undefined);
          return `${kindId(requirement.kind)}${trouble === undefined ? '' : `: ${trouble}`}`;
        });
    },
    isFresh: (wanted, maxAgeMs) =>
      wanted.every((kind) => isDoneWithout(kind) || [...feeds(kind)].every((feed) => feed.isFresh(maxAgeMs))),
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
    use(kindIds) {
      const used = kindIds.flatMap((id) => kinds.get(id) ?? []).filter(({ requirement }) => requirement.conditional);
      for (const found of used) if (++found.users === 1) openKind(found);
      return () => {
        for (const found of used) if (--found.users === 0) closeKind(found);
      };
    },
    async stop() {
      stopping.abort();
      for (const state of kinds.values()) {
        state.read?.stop();
        for (const close of state.closing) close();
        for (const table of new Set([state.tables.read, state.tables.children])) {
          table?.drop('unknown');
          if (table !== undefined) engine.retire(table);
        }
      }
      access.drop('unknown');
      engine.retire(access, beyond);
      for (const stop of stops) stop();
      await informers.close();
    },
  };

  function indexIn(
    found: KindState,
    table: Table<KubeObject>,
    indexName: string,
    keysOf: (object: KubeObject) => readonly string[],
  ) {
    const existing = found.indexes.get(keysOf);
    if (existing !== undefined) return existing;
    const twins = [...found.indexes.values()].filter(({ name: known }) => known.split('#')[0] === indexName).length;
    const made = engine.index(table, twins === 0 ? indexName : `${indexName}#${twins + 1}`, keysOf);
    found.indexes.set(keysOf, made);
    return made;
  }
}

function isChild(object: KubeObject): boolean {
  return object.metadata.labels?.[INVENTORY_LABEL] !== undefined;
}

/** Named by the tables of all worlds, in what a reconcile waits for. */
export const BEYOND = 'outside the watched namespaces';

/** The inventories whose annotations an object of somebody else carries. */
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
