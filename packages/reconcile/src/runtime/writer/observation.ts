// Observes the objects that a plan writes, in every cluster that it writes to, as reads of the reconciler.
import { type Kind, type KubeObject, keyOf, kindId, type ObjectKey } from '@capstan/kube/cluster';
import { type Failure, identity, type Observed } from '../../diff/index.ts';
import { type Table, type Tracker } from '../../engine/index.ts';
import { DefinitionErrors } from '../../errors.ts';
import { inventoryId } from '../../inventory.ts';
import { INVENTORY_LABEL } from '../../marks.ts';
import { type Ownership } from '../../ownership/index.ts';
import { inWorld, placeOf } from '../../plan/index.ts';
import { type ReadSources } from '../../read/read-sources.ts';
import { finalizersOf, statusOf, wholeOf } from '../../read/tracked-object.ts';
import { concernsOthers, makesChildren, type Reconciler, roleOf, type WriteDeclaration } from '../../reconciler.ts';
import type { World } from '../../worlds/index.ts';
import { childView } from './views.ts';

/** For the reports about an object without a plan: neither its children nor the time count. */
export const NOTHING_OBSERVED: Observed = {
  child: () => undefined,
  object: () => undefined,
  inventory: () => [],
  marked: () => [],
  status: () => undefined,
  finalizers: () => [],
  reached: () => false,
  failure: () => undefined,
};

/** Where a reconciler reads and writes. */
export interface Places {
  readonly world: World;
  readonly reconciler: Reconciler;
  readonly sources: ReadSources;
  worldFor(kind: Kind): World | undefined;
}

interface Observation extends Places {
  table: Table<KubeObject>;
  failures: Table<Failure>;
  foreign: Table<KubeObject>;
  key: ObjectKey;
  owned: Ownership;
  elsewhere: Ownership | undefined;
}

export function worldFor(sources: ReadSources, own: World, kind: Kind): World | undefined {
  const name = placeOf(kind);
  return name === undefined ? own : sources.worlds.get(name);
}

/** Children in another cluster are known by the identity of their owner's cluster, and no owner reference reaches them. */
export function ownedElsewhere({ owner, object }: Ownership, cluster: string): Ownership {
  const { name, namespace } = object.metadata;
  const abroad = { ...owner, world: cluster };
  const unreferred = { ...object, metadata: { ...(namespace && { namespace }), ...(name && { name }) } };
  return { inventory: inventoryId(abroad), owner: abroad, object: unreferred };
}

/** A declared kind in a world: where children of it may be. */
interface WrittenPlace {
  readonly kind: Kind;
  readonly declared: WriteDeclaration;
  readonly world: World;
  readonly ownership: Ownership;
}

export function observe(tracker: Tracker, observation: Observation): Observed {
  const { table, world, reconciler, failures, foreign, key, sources, elsewhere } = observation;
  const tableOf = (kind: Kind) => tableFor(observation, kind);
  const places = () => writtenPlaces(tracker, observation);
  return {
    child(kind, ref) {
      const view = tracker.get(tableOf(kind), keyOf(ref), childView);
      return view === undefined ? tracker.get(foreign, identity(kind, ref)) : wholeOf(view);
    },
    object: (kind, ref) => tracker.get(tableOf(kind), keyOf(ref)) ?? tracker.get(foreign, identity(kind, ref)),
    inventory: () =>
      places().flatMap(({ kind, declared, world: place, ownership: { inventory } }) => {
        const from = makesChildren(declared) ? place.childTable(kind) : undefined;
        if (from === undefined || isAway(tracker, world, place, from)) return [];
        if (isMissing(tracker, place, reconciler, kind)) return [];
        return tracker
          .list(from, { selector: new InventorySelector(inventory) }, childView)
          .map((view) => ({ kind, object: wholeOf(view), prunes: declared.prunes ?? true }));
      }),
    marked: () =>
      places().flatMap(({ kind, declared, world: place, ownership: { inventory } }) => {
        const marks = concernsOthers(declared) ? place.markIndex(kind) : undefined;
        if (marks === undefined || isAway(tracker, world, place, marks.table)) return [];
        return tracker.by(marks, inventory).map((object) => ({ kind, object }));
      }),
    // Each read is recorded: one record is enough for reads that the comparison repeats.
    status: once(() => tracker.get(table, key, statusOf) as ReturnType<Observed['status']>),
    finalizers: once(() => tracker.get(table, key, finalizersOf) ?? []),
    reached: (instant) => sources.instants.reached(tracker, instant),
    failure: () => tracker.get(failures, key),
    ...(elsewhere === undefined ? {} : awayOf(tracker, observation)),
  };
}

function once<T>(read: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => (found ??= { value: read() }).value;
}

/** Returns the parts that cannot be checked in other worlds, with the reasons. */
function awayOf(tracker: Tracker, observation: Observation): Required<Pick<Observed, 'away' | 'awayWorlds'>> {
  const { world, sources } = observation;
  return {
    away(kind) {
      const name = placeOf(kind);
      if (name === undefined) return undefined;
      const place = sources.worlds.find(tracker, name);
      if (place === undefined) return `there is no cluster named ${name}; add its kubeconfig Secret`;
      const isUnknown = isAway(tracker, world, place, tableFor(observation, kind));
      return isUnknown
        ? `the cluster ${name} cannot be reached; see that its address and credentials are right`
        : undefined;
    },
    awayWorlds() {
      const away = writtenPlaces(tracker, observation).filter(({ kind, world: place }) => {
        const from = place.childTable(kind) ?? place.readTable(kind);
        return from !== undefined && isAway(tracker, world, place, from);
      });
      return [...new Set(away.map(({ world: { name } }) => name))].toSorted();
    },
  };
}

/** Every declared kind in every world of its role. */
function writtenPlaces(
  tracker: Tracker,
  { world, reconciler, sources, owned, elsewhere }: Observation,
): readonly WrittenPlace[] {
  return reconciler.writes.flatMap((declared): WrittenPlace[] => {
    const { kind } = declared;
    const role = declared.in ?? roleOf(reconciler);
    if (role === roleOf(reconciler) || elsewhere === undefined) return [{ kind, declared, world, ownership: owned }];
    return sources.worlds.names(tracker, role).flatMap((name) => {
      const place = sources.worlds.get(name);
      return place === undefined ? [] : [{ kind: inWorld(kind, name), declared, world: place, ownership: elsewhere }];
    });
  });
}

/** Whether another world was never listed, so that nothing is known of it; our own world is waited for instead. */
function isAway(tracker: Tracker, own: World, place: World, table: Table<KubeObject>): boolean {
  return place !== own && tracker.state(table, NO_OBJECT) === 'unknown';
}

/** No object has this key: its state is the table's default for absent keys. */
const NO_OBJECT = '\u0000';

/** Every owner has one: only its inventory is kept, and the rest is put together when it is asked for. */
class InventorySelector {
  private readonly inventory: string;

  constructor(inventory: string) {
    this.inventory = inventory;
  }

  get canonical(): string {
    return `${INVENTORY_LABEL}=${this.inventory}`;
  }

  get terms() {
    return [{ key: INVENTORY_LABEL, operator: 'In' as const, values: [this.inventory] }];
  }

  matches(labels: Readonly<Record<string, string>> | undefined): boolean {
    return labels?.[INVENTORY_LABEL] === this.inventory;
  }
}

/** An optional kind that the server does not serve or show has no children to prune. */
function isMissing(tracker: Tracker, world: World, { reads }: Reconciler, kind: Kind): boolean {
  const id = kindId(kind);
  const isOptional = reads.some((read) => read.optional && kindId(read.kind) === id);
  return isOptional && tracker.get(world.access, id) !== 'served';
}

export function tableFor({ reconciler, sources, worldFor: find }: Places, kind: Kind): Table<KubeObject> {
  const name = placeOf(kind);
  const role = name === undefined ? roleOf(reconciler) : sources.worlds.roleOf(name);
  const declarations = reconciler.writes.filter(
    (write) => kindId(write.kind) === kindId(kind) && (write.in ?? roleOf(reconciler)) === role,
  );
  const world = find(kind);
  const table = declarations.some(makesChildren)
    ? (world?.childTable(kind) ?? world?.readTable(kind))
    : world?.readTable(kind);
  if (declarations.length === 0 || table === undefined)
    throw DefinitionErrors.UndeclaredWrite(reconciler.name, kindId(kind), name === undefined ? undefined : role);
  return table;
}
