// A world that holds exactly the objects it is given: for pure tests of reconcilers, and for previews without a cluster.
import { type Client, groupOf, type Kind, type KubeObject, keyOfObject, kindId } from '@capstan/kube';
import type { Engine, Index, Table } from '../engine/index.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import type { Access } from '../read/index.ts';
import type { KindRequirement } from './requirements.ts';
import { inventoriesMarked, type World } from './world.ts';

export interface StaticWorldOptions {
  name: string;
  engine: Engine;
  requirements: ReadonlyMap<string, KindRequirement>;
  objects: readonly KubeObject[];
  /** Kind ids that are not known yet: reading them suspends. */
  unknown?: readonly string[];
}

export function createStaticWorld(options: StaticWorldOptions): World {
  const { engine, name, requirements, unknown = [] } = options;
  const tables = new Map<string, Table<KubeObject>>();
  const indexes = new Map<string, Index<KubeObject>>();
  const access = engine.table<Access>({ name: `access to kinds of ${name}` });
  for (const [id, { kind }] of requirements) {
    const table = engine.table<KubeObject>({
      name: name === '' ? id : `${name}/${id}`,
      labels: (object) => object.metadata.labels,
      ...(kind.sensitive ? { sensitive: true } : {}),
    });
    tables.set(id, table);
    if (unknown.includes(id)) continue;
    access.put(id, 'served');
    table.synced();
  }
  for (const object of options.objects) {
    tables.get(idOf(object))?.put(keyOfObject(object), object);
  }
  const tableOf = (kind: Kind) => tables.get(kindId(kind));
  const indexOf = (kind: Kind, indexName: string, keysOf: (object: KubeObject) => readonly string[]) => {
    const table = tableOf(kind);
    if (table === undefined) return undefined;
    const id = `${kindId(kind)} ${indexName}`;
    const made = indexes.get(id) ?? engine.index(table, indexName, keysOf);
    indexes.set(id, made);
    return made;
  };
  return {
    name,
    access,
    get client(): Client {
      throw new TypeError('a static world has no server to write to');
    },
    originOf: (kind, object) => ({ kind, object }),
    readTable: tableOf,
    childTable: tableOf,
    markIndex: (kind) => indexOf(kind, 'inventory marks', inventoriesMarked),
    indexOf: (index) => indexOf(index.kind, index.name, index.keysOf),
    ownedBy: (owner) =>
      options.objects
        .filter(
          (object) =>
            object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) &&
            object.metadata.labels?.[INVENTORY_LABEL],
        )
        .flatMap((object) => {
          const kind = requirements.get(idOf(object))?.kind;
          return kind === undefined ? [] : [{ kind, object }];
        }),
    observeWrite: (kind, object) => tableOf(kind)?.put(keyOfObject(object), object),
    observeDelete: (kind, object) => tableOf(kind)?.delete(keyOfObject(object)),
    isSynced: true,
    isCurrent: true,
    waitingFor: () => [],
    isFresh: () => true,
    staleness: () => new Map(),
    poke() {},
    stop: () => Promise.resolve(),
  };
}

function idOf(object: KubeObject): string {
  return kindId({ group: groupOf(object.apiVersion), kind: object.kind });
}
