// A world with exactly the given objects: for pure tests of reconcilers, and for previews without a cluster. It shows the same as the
// caches of a real one: aliases as one view, and only our own objects of kinds that are only written.
import {
  type Client,
  groupOf,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  silentLogger,
} from '@capstan/kube/cluster';
import type { Engine, Index, Table } from '../engine/index.ts';
import { inventoryOf } from '../inventory.ts';
import type { Access, WatchProblem } from '../read/index.ts';
import { createFieldFilter, type FieldFilter } from './field-paths.ts';
import type { KindRequirement } from './requirements.ts';
import { createViews, originAmong, writtenKinds } from './views.ts';
import { BEYOND, inventoriesMarked, type World } from './world.ts';

export interface StaticWorldOptions {
  name: string;
  engine: Engine;
  requirements: ReadonlyMap<string, KindRequirement>;
  /** Those of kinds that no reconciler declares are left out. */
  objects: readonly KubeObject[];
  /** Kind ids that are not known yet: reading them suspends. */
  unknown?: readonly string[];
  /** By kind id, the access to kinds that a server does not serve or show: reads suspend, and read.access() reports it. */
  access?: Readonly<Record<string, Access>>;
}

interface KindTable {
  readonly kind: Kind;
  readonly table: Table<KubeObject>;
  readonly requirement: KindRequirement;
  /** The fields that a cache would keep; reading any other throws. */
  readonly filter: FieldFilter;
}

export function createStaticWorld(options: StaticWorldOptions): World {
  const { engine, name, objects, requirements, unknown = [], access: given = {} } = options;
  const views = createViews(silentLogger);
  const tables = new Map<string, KindTable>();
  const indexes = new Map<string, Index<KubeObject>>();
  const access = engine.table<Access>({ name: `access to kinds of ${name}` });
  for (const [id, requirement] of requirements) {
    const { kind } = requirement;
    const table = engine.table<KubeObject>({
      name: name === '' ? id : `${name}/${id}`,
      labels: (object) => object.metadata.labels,
      ...(kind.sensitive ? { sensitive: true } : {}),
    });
    const { fields } = requirement;
    const filter: FieldFilter = fields === undefined ? (object) => object : createFieldFilter(fields, { guard: true });
    for (const written of writtenKinds(kind)) tables.set(kindId(written), { kind, table, requirement, filter });
    if (unknown.includes(id)) continue;
    access.put(id, given[id] ?? 'served');
    if ((given[id] ?? 'served') === 'served') table.synced();
  }
  /** The last object, by the kind that it is seen as: a table makes its own copy. */
  const written = new Map<string, KubeObject>();
  const put = (object: KubeObject) => {
    const found = tables.get(idOf(object));
    if (found !== undefined) written.set(writtenId(found.kind, object), object);
    const isShown = found?.requirement.reads !== undefined || inventoryOf(object) !== undefined;
    if (isShown) found?.table.put(keyOfObject(object), views.viewOf(found.kind, found.filter(object)));
  };
  for (const object of objects) put(object);

  const tableOf = (kind: Kind) => tables.get(kindId(kind))?.table;
  const indexOf = (kind: Kind, indexName: string, keysOf: (object: KubeObject) => readonly string[]) => {
    const table = tableOf(kind);
    if (table === undefined) return undefined;
    const id = `${table.name} ${indexName}`;
    const created = indexes.get(id) ?? engine.index(table, indexName, keysOf);
    indexes.set(id, created);
    return created;
  };
  const watchProblems = engine.table<WatchProblem>({ name: `problems of watches of ${name}` });
  watchProblems.synced();
  return {
    name,
    kinds: [...requirements.values()].map(({ kind }) => kind),
    access,
    watchProblems,
    get client(): Client {
      throw new TypeError('a static world has no server to write to');
    },
    targetFor() {
      throw new TypeError('a static world has no server to write to');
    },
    beyond: engine.table<KubeObject>({ name: BEYOND }),
    covers: () => true,
    readsOnly: () => undefined,
    originOf: (kind, view) => views.originOf(view) ?? originAmong(kind, view, [written.get(writtenId(kind, view))]),
    readTable: tableOf,
    childTable: tableOf,
    keepsWhole: (kind) => tables.get(kindId(kind))?.requirement.fields === undefined,
    markIndex: (kind) => indexOf(kind, 'inventory marks', inventoriesMarked),
    indexOf: (index) => indexOf(index.kind, index.name, index.keysOf),
    peek: (kind) => [...written.values()].flatMap((object) => (idOf(object) === kindId(kind) ? object : [])),
    ownedBy: ({ metadata: { uid } }) =>
      objects.flatMap((object) => {
        const kind = tables.get(idOf(object))?.kind;
        const isOwned = object.metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false;
        return kind !== undefined && isOwned && inventoryOf(object) !== undefined ? [{ kind, object }] : [];
      }),
    children: () =>
      objects.flatMap((object) => {
        const kind = tables.get(idOf(object))?.kind;
        return kind === undefined || inventoryOf(object) === undefined ? [] : [{ kind, object }];
      }),
    observeWrite: (_kind, object) => put(object),
    observeDelete: (kind, object) => tableOf(kind)?.delete(keyOfObject(object)),
    isSynced: true,
    isCurrent: true,
    waitingFor: () => [],
    filling: () => [],
    isFresh: () => true,
    staleness: () => new Map(),
    use: () => () => {},
    poke() {},
    stop: () => Promise.resolve(),
  };
}

function idOf(object: KubeObject): string {
  return kindId({ group: groupOf(object.apiVersion), kind: object.kind });
}

function writtenId(kind: Kind, object: KubeObject): string {
  return `${kindId(kind)} ${keyOfObject(object)}`;
}
