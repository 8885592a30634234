// The caches of a world, kind by kind: the tables of each, the informers that fill them, and whether the server lets us read
// it. A kind that only parts which can be switched off need is opened and closed with them.
import {
  type Client,
  type Clock,
  CustomResourceDefinition,
  createInformers,
  type InformerObserver,
  type InformerView,
  type Kind,
  type KubeObject,
  kindId,
  type Logger,
  type Random,
  type Selection,
  type SharedInformer,
} from '@capstan/kube/cluster';
import type { Engine, Index, Table } from '../engine/index.ts';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import type { Access, WatchProblem } from '../read/index.ts';
import { createFeed, type Feed } from './feed.ts';
import { createFieldFilter } from './field-paths.ts';
import { createReferencedFeed } from './referenced-feed.ts';
import type { KindRequirement } from './requirements.ts';
import { createViews, type OnView, type Views, writtenKinds } from './views.ts';

export interface KindCachesOptions {
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
  /** Whether reading a field that no reader declares throws: for tests. */
  guard?: boolean;
  /** Called when an object could not be normalised, and when it can be again. */
  onView?: OnView;
  /** Whether caches are frozen; true by default. */
  freeze?: boolean;
  /** See InformerOptions of @capstan/kube. */
  watchSeconds?: number;
}

export interface KindCaches {
  /** By kind id. */
  readonly all: ReadonlyMap<string, KindCache>;
  /** By kind id: whether the kind can be read. */
  readonly access: Table<Access>;
  /** The problem of each watch, by kind id. */
  readonly watchProblems: Table<WatchProblem>;
  readonly views: Views;
  /** That of a kind, or of the kind that it is another name of. */
  of(kind: Kind): KindCache | undefined;
  feedsOf(kind: Kind): Iterable<Feed>;
  /** The namespaces in which objects of a kind are cached; undefined: all. */
  namespacesOf(cache: KindCache): readonly (string | undefined)[];
  /** Whether everything of it has been listed. */
  isReady(informer: InformerView<KubeObject>): boolean;
  /** Whether it follows everything that happens. */
  isWatching(informer: InformerView<KubeObject>): boolean;
  /** Opens those that can be switched off, until the function that it returns is called. */
  use(kindIds: readonly string[]): () => void;
  stop(): Promise<void>;
}

export interface KindCache {
  readonly requirement: KindRequirement;
  /** The same from one opening to the next. */
  readonly tables: { readonly read: Table<KubeObject> | undefined; readonly children: Table<KubeObject> | undefined };
  /** Undefined while the kind is not cached. */
  read: Feed | undefined;
  children: Feed | undefined;
  informers: readonly InformerView<KubeObject>[];
  /** Undo the opening. */
  closing: (() => void)[];
  /** How many parts that can be switched off are on and need it. */
  users: number;
  /** By the function that finds the keys: two indexes may have one name. */
  readonly indexes: Map<(object: KubeObject) => readonly string[], Index<KubeObject>>;
}

export function createKindCaches(options: KindCachesOptions): KindCaches {
  const { engine, client, name, logger } = options;
  const stopping = new AbortController();
  const filters = new Map(
    [...options.requirements].flatMap(([id, { fields }]) =>
      fields === undefined ? [] : [[id, createFieldFilter(fields, { guard: options.guard ?? false })] as const],
    ),
  );
  const filterOf = (kind: Kind) => filters.get(kindId(kind));
  const informers = createInformers({
    client,
    clock: options.clock,
    random: options.random,
    logger,
    ownManagers: [
      FIELD_MANAGER_PREFIX,
      ...[...options.requirements.values()].flatMap(({ managers }) => managers ?? []),
    ],
    ownLabel: INVENTORY_LABEL,
    ...(options.freeze === undefined ? {} : { freeze: options.freeze }),
    ...(options.watchSeconds === undefined ? {} : { watchSeconds: options.watchSeconds }),
    ...(options.guard ? {} : { trim: (kind, object) => filterOf(kind)?.(object) ?? object }),
    isOptional: (kind) => options.requirements.get(kindId(kind))?.optional === true,
    ...(options.observe ? { observe: options.observe } : {}),
  });
  const views = createViews(logger, options.onView);
  const access = engine.table<Access>({ name: `access to kinds of ${name}` });
  const watchProblems = engine.table<WatchProblem>({ name: `problems of watches of ${name}` });
  watchProblems.synced();
  const kinds = new Map<string, KindCache>();
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

  /** In tests the cache has everything, and shows the declared fields: reading any other throws. */
  function guarded(kind: Kind, object: KubeObject): KubeObject {
    return options.guard ? (filterOf(kind)?.(object) ?? object) : object;
  }

  function createKind(requirement: KindRequirement): KindCache {
    const { kind, reads } = requirement;
    const tableFor = (label: string) =>
      engine.table<KubeObject>({
        name: label,
        labels: (object) => object.metadata.labels,
        ...(kind.sensitive ? { sensitive: true } : {}),
      });
    const isCovered = isWhole(requirement);
    // Referenced kinds are opened here: the table knows the reads, and metadata alone is cached meanwhile.
    const referenced = reads === 'referenced' ? openReferenced(requirement) : undefined;
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

  function openReferenced(requirement: KindRequirement) {
    const { kind } = requirement;
    const places = namespacesFor(requirement);
    const metadata = selectionsOf(requirement)
      .flatMap((selection) => openInformers(kind, { ...selection, metadataOnly: true }, places))
      .map(({ informer }) => informer);
    const common = {
      engine,
      name: tableName(kind),
      kind,
      client,
      metadata,
      clock: options.clock,
      random: options.random,
      logger,
    };
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

  function openKind(state: KindCache): void {
    const { kind, reads } = state.requirement;
    const opened = [...state.informers];
    const feed = (
      table: Table<KubeObject>,
      shared: readonly SharedInformer<KubeObject>[],
      view?: (object: KubeObject) => KubeObject,
    ): Feed => {
      const sources = shared.map(({ informer }) => informer);
      opened.push(...sources);
      const shown = (object: KubeObject) => (view ?? same)(guarded(kind, object));
      const created = createFeed(table, sources, shown, view === undefined ? undefined : isReady);
      state.closing.push(() => {
        created.stop();
        table.drop('unknown');
        for (const { release } of shared) void release();
      });
      return created;
    };
    const { read, children } = state.tables;
    if (read !== undefined && reads !== 'referenced') {
      const view = (object: KubeObject) => views.viewOf(kind, object);
      const places = namespacesFor(state.requirement);
      const shared = selectionsOf(state.requirement).flatMap((selection) =>
        openInformers(kind, selection, places, writtenKinds(kind)),
      );
      state.read = feed(read, shared, view);
    }
    if (children !== undefined && children !== read) {
      const shared = openInformers(kind, { labelSelector: INVENTORY_LABEL }, childNamespaces(state.requirement));
      state.children = feed(children, shared);
    } else if (children !== undefined) state.children = state.read;
    state.informers = opened;
    state.closing.push(watchAccess(kind, opened));
  }

  function closeKind(state: KindCache): void {
    for (const close of state.closing) close();
    state.closing = [];
    access.forget(kindId(state.requirement.kind));
    watchProblems.delete(kindId(state.requirement.kind));
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

  function namespacesFor(requirement: KindRequirement): readonly (string | undefined)[] {
    const { kind, reads } = requirement;
    return reads === 'ownNamespace' && kind.scope === 'Namespaced'
      ? [options.namespace ?? 'default']
      : childNamespaces(requirement);
  }

  /** An operator that is restricted to namespaces watches none besides, also where a declaration names one. */
  function childNamespaces({ kind, namespaces }: KindRequirement): readonly (string | undefined)[] {
    const all = allNamespaces(kind);
    if (namespaces === undefined || kind.scope !== 'Namespaced') return all;
    const named = namespaces.filter((one) => one !== '');
    const watched = options.watchNamespaces === undefined ? named : named.filter((one) => all.includes(one));
    return [...new Set([...watched, ...(named.length < namespaces.length ? [options.namespace ?? 'default'] : [])])];
  }

  /** Forbidden and not-served are values that can be read, and the reason why everything else about the kind suspends. */
  function watchAccess(kind: Kind, opened: readonly InformerView<KubeObject>[]): () => void {
    const judge = () => {
      const states = opened.filter((informer) => !isMissingAlias(informer)).map((informer) => informer.state());
      const reasons = states.map(({ reason }) => reason);
      const problem = states.find(({ reason }) => reason !== undefined);
      if (problem?.reason !== undefined)
        watchProblems.put(kindId(kind), { reason: problem.reason, message: problem.lastError ?? 'no answer' });
      else if (watchProblems.peek(kindId(kind)) !== undefined) watchProblems.delete(kindId(kind));
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

  /** Aliases share the cache of the kind that they are a view of, unless they are read under their own name too. */
  const aliases = new Map<string, KindCache>();
  for (const found of kinds.values())
    for (const kind of writtenKinds(found.requirement.kind)) aliases.set(kindId(kind), found);
  const of = (kind: Kind) => kinds.get(kindId(kind)) ?? aliases.get(kindId(kind));

  return {
    all: kinds,
    access,
    watchProblems,
    views,
    of,
    *feedsOf(kind) {
      const found = of(kind);
      if (found?.read) yield found.read;
      if (found?.children && found.children !== found.read) yield found.children;
    },
    namespacesOf: ({ requirement, tables }) =>
      tables.read === undefined ? childNamespaces(requirement) : namespacesFor(requirement),
    isReady,
    isWatching: (informer) => informer.state().phase === 'watching' || isMissingAlias(informer),
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
      watchProblems.drop('absent');
      engine.retire(access, watchProblems);
      for (const stop of stops) stop();
      await informers.close();
    },
  };
}

/** Whether every object of a kind is read, so that our own children are among them. */
export function isWhole({ reads, names }: KindRequirement): boolean {
  return reads === 'all' && names === undefined;
}

/** One for all objects, or one for each name. */
function selectionsOf({ names }: KindRequirement): readonly Selection[] {
  return names === undefined ? [{}] : names.map((name) => ({ fieldSelector: `metadata.name=${name}` }));
}

function same(object: KubeObject): KubeObject {
  return object;
}
