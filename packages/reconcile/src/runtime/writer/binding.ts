// A reconciler in a world, as two derivations per object: its plan, and the remaining writes. The second is a sink: its changes go to the
// queue. Both are tracked, so drift of a child wakes the second alone.
import type { JsonSchema } from '@capstan/kube';
import {
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  kindId,
  type ObjectKey,
  type ObjectRef,
  reasonOf,
  share,
} from '@capstan/kube/cluster';
import {
  type DiffInput,
  diff,
  type Failure,
  identity,
  type KnownChild,
  NOTHING,
  type Observed,
  reportOnly,
  statusOnly,
  storedMemory,
  type WriteSet,
} from '../../diff/index.ts';
import { type DigestKey, keyedDigest } from '../../digest.ts';
import { type Derivation, type Engine, Suspended, type Table, type Tracker } from '../../engine/index.ts';
import { DefinitionErrors } from '../../errors.ts';
import { fieldManager, type InventoryId, type InventoryOwner, inventoryId } from '../../inventory.ts';
import { INVENTORY_LABEL } from '../../marks.ts';
import { isPrimary, type Operator } from '../../operator.ts';
import { claimantOf, type Ownership, type Standing, standingOf } from '../../ownership/index.ts';
import { checkedPlan } from '../../plan/check-plan.ts';
import {
  type AppliedChild,
  type Child,
  inWorld,
  type Plan,
  placeOf,
  plan,
  released,
  type StatusInput,
} from '../../plan/index.ts';
import { explainingChanges } from '../../read/changed-value.ts';
import { collectSensitive } from '../../read/sensitive.ts';
import { finalizersOf, statusOf, trackedObject, wholeOf } from '../../read/tracked-object.ts';
import { declaredIn, digestOf, type ReadSources, type Run, WorldReader } from '../../read/world-reader.ts';
import {
  concernsOthers,
  finalizerOf,
  type Memory,
  makesChildren,
  type Reconciler,
  roleOf,
  type WriteDeclaration,
  writesElsewhere,
} from '../../reconciler.ts';
import type { World } from '../../worlds/index.ts';
import { childView, memoryView, ownerView } from './views.ts';

/** The name of the derivation that ends every chain of causes, so that reports for people can leave it out. */
export const WRITES_PREFIX = 'writes of ';

export interface Binding {
  readonly operator: Operator;
  readonly reconciler: Reconciler;
  readonly world: World;
  /** `operator.reconciler`, with `@world` where worlds have names. */
  readonly id: string;
  readonly manager: string;
  readonly finalizer: string;
  readonly table: Table<KubeObject>;
  readonly plans: Derivation<Plan>;
  readonly writes: Derivation<WriteSet>;
  /** The sink's reports about its last attempts, by object key: a sink is a world too. */
  readonly failures: Table<Failure>;
  /** Sets the sink's report about its last attempt. */
  report(key: string, failure: Failure | undefined): void;
  /** Sets the errors of authors' functions that failed on an object. */
  blame(key: string, failure: Failure | undefined): void;
  /** Children that the comparison found to belong to another owner, by object key: there is no attempt to report. */
  readonly conflicts: Table<Failure>;
  /** Objects that stand where a child should be and that the cache of our own does not hold, by identity. */
  readonly foreign: Table<KubeObject>;
  ownership(object: KubeObject): Ownership;
  /** The writes that show on an object that it waits: nothing else is known of it. */
  waiting(key: string, failure: Failure): WriteSet | undefined;
  /** The world that objects of a kind are written in; undefined when it is gone. */
  worldFor(kind: Kind): World | undefined;
}

export function bindReconciler(
  engine: Engine,
  sources: ReadSources,
  operator: Operator,
  reconciler: Reconciler,
  world: World,
): Binding {
  const name = `${operator.name}.${reconciler.name}`;
  const id = world.name === '' ? name : `${name}@${world.name}`;
  const manager = fieldManager(operator.name, reconciler.name);
  const finalizer = finalizerOf(reconciler);
  const { resource } = reconciler;
  const table = world.readTable(resource);
  if (table === undefined) throw new TypeError(`world ${world.name} does not cache ${kindId(resource)}`);
  const declared = new Set([
    declaredIn(roleOf(reconciler), resource),
    ...[...reconciler.reads, ...reconciler.writes].map((each) => declaredIn(each.in ?? roleOf(reconciler), each.kind)),
  ]);
  const foreign = engine.table<KubeObject>({ name: `foreign objects in the way of ${id}` });
  foreign.synced();
  const failures = engine.table<Failure>({ name: `reports of ${id}` });
  failures.synced();
  const shown = createShown(failures);
  const conflicts = engine.table<Failure>({ name: `conflicts of ${id}` });
  conflicts.synced();

  const plans = engine.derive<Plan>({
    name: id,
    owner: operator.name,
    compute(key, tracker) {
      const object = trackedObject(tracker, table, key);
      if (object === undefined) return plan();
      const isGoing = object.metadata.deletionTimestamp !== undefined;
      if (isGoing && !(tracker.get(table, key, finalizersOf)?.includes(finalizer) ?? false)) return plan();
      if (isGoing && reconciler.release === undefined) return released();
      const compute = () => {
        const run: Run = {
          tracker,
          sources,
          sensitive: sensitiveOf(resource, object),
          declared,
          name: id,
          operator: operator.name,
          key,
        };
        const context = {
          object,
          read: new WorldReader(run, world),
          digest: digestOf(run),
          memory: memoryOf(tracker, table, place, key, ownership),
          standing: (kind: Kind, ref: ObjectRef) =>
            standingIn(tracker, { table, place, key, ownership, manager }, kind, ref),
        };
        const returned = isGoing ? reconciler.release?.(context) : reconciler.reconcile(context);
        const planned = checkedPlan(returned, reconciler);
        // Nothing is removed because a function failed on an object that would have kept it.
        return keptOnce(tracker.incomplete && planned.prune ? { ...planned, prune: false } : planned, world);
      };
      const explained = () => explainingChanges(`the reconciler ${reconciler.name}`, compute);
      return sources.purely === undefined
        ? explained()
        : sources.purely(`the reconciler ${reconciler.name}`, explained);
    },
  });

  sources.problems.set(`${name}@${world.name}`, { tables: [failures, conflicts], plans });

  const owners = new WeakMap<KubeObject, Ownership>();
  const ownership = (view: KubeObject): Ownership => {
    const known = owners.get(view);
    if (known !== undefined) return known;
    const { kind, object } = world.originOf(resource, view);
    const owner = { world: '', reconciler: name, kind, key: keyOfObject(object) };
    const created = new LazyOwnership(owner, object);
    owners.set(view, created);
    return created;
  };
  const place: Places = { world, reconciler, sources, worldFor: (kind) => worldFor(sources, world, kind) };
  const traits = {
    known: new WeakMap<AppliedChild, KnownChild>(),
    manager,
    finalizer,
    hasRelease: reconciler.release !== undefined,
    mayHold: reconciler.finalizer !== false,
    isPrimary: isPrimary(operator, reconciler) && hasObservedGeneration(resource),
    hasStatus: (resource.hasStatus ?? false) && (reconciler.writesStatus ?? true),
    isForeign: !('schema' in resource),
  };

  const writes = engine.derive<WriteSet>({
    name: `${WRITES_PREFIX}${id}`,
    owner: operator.name,
    sink: true,
    compute(key, tracker) {
      const view = tracker.get(table, key, ownerView);
      if (view === undefined) return NOTHING;
      const owned = ownership(wholeOf(view));
      const elsewhere = writesElsewhere(reconciler)
        ? ownedElsewhere(owned, tracker.get(sources.identities, world.name) ?? '')
        : undefined;
      const observed = observe(tracker, { ...place, table, failures, foreign, key, owned, elsewhere });
      const outcome = tracker.settled(plans, key);
      const secretKey = () => tracker.get(sources.digestKey, operator.name) as DigestKey;
      // Every string of a sensitive child counts as secret, because it cannot be shown to be harmless.
      const keyed = (content: unknown) => keyedDigest([content], () => true, secretKey);
      const input = (desired: Plan): DiffInput => ({
        ...traits,
        keyed,
        plan: desired,
        ownership: owned,
        elsewhere,
        observed,
      });
      // Suspended: no plan, nothing pruned; this read suspends too.
      if (outcome.state === 'suspended') return diff(input(tracker.derived(plans, key)));
      if (outcome.state === 'error')
        return statusOnly(input(plan()), `the reconciler ${reconciler.name} threw: ${outcome.error.message}`);
      try {
        return diff(input(outcome.value));
      } catch (error) {
        if (error instanceof Suspended) throw error;
        return statusOnly(input(plan()), `the writes of ${reconciler.name} cannot be computed: ${problemOf(error)}`);
      }
    },
  });

  return {
    operator,
    reconciler,
    world,
    id,
    manager,
    finalizer,
    table,
    plans,
    writes,
    failures,
    ...shown,
    conflicts,
    foreign,
    ownership,
    waiting(key, failure) {
      const object = table.peek(key);
      if (object === undefined) return undefined;
      const { status } = object as KubeObject & { status?: StatusInput };
      const observed = { ...NOTHING_OBSERVED, status: () => status, failure: () => failure };
      return reportOnly({ ...traits, plan: plan(), ownership: ownership(object), observed });
    },
    worldFor: place.worldFor,
  };
}

function problemOf(error: unknown): string {
  return error instanceof RangeError
    ? 'the plan contains itself, or is nested too deeply; give plain data without cycles'
    : reasonOf(error);
}

/** For the reports about an object without a plan: neither its children nor the time count. */
const NOTHING_OBSERVED: Observed = {
  child: () => undefined,
  object: () => undefined,
  inventory: () => [],
  marked: () => [],
  status: () => undefined,
  finalizers: () => [],
  reached: () => false,
  failure: () => undefined,
};

/** Two reports about one object in one row, so that its reader needs one read: those of the sink, and those of functions. */
function createShown(failures: Table<Failure>): Pick<Binding, 'report' | 'blame'> {
  const reported = new Map<string, Failure>();
  const blamed = new Map<string, Failure>();
  const setter = (own: Map<string, Failure>) => (key: string, failure: Failure | undefined) => {
    if (failure !== undefined) own.set(key, failure);
    else if (!own.delete(key)) return;
    const first = reported.get(key) ?? blamed.get(key);
    const second = reported.has(key) ? blamed.get(key) : undefined;
    if (first !== undefined)
      failures.put(key, second === undefined ? first : { ...first, message: `${first.message}; ${second.message}` });
    else if (failures.peek(key) !== undefined) failures.delete(key);
  };
  return { report: setter(reported), blame: setter(blamed) };
}

/**
 * The plan with those parts of its children that the cache holds as well replaced by the cached ones: the content of thousands of settled
 * children is kept once. The parts are equal, so it is no read.
 */
function keptOnce(planned: Plan, world: World): Plan {
  let isShared = false;
  const kept = (child: Child): Child => {
    if (child.how !== 'apply' || placeOf(child.kind) !== undefined || !world.keepsWhole(child.kind)) return child;
    const cached = world.childTable(child.kind)?.peek(keyOf(child.ref));
    const object = cached === undefined ? child.object : share(cached, child.object);
    if (object === child.object) return child;
    isShared = true;
    return { ...child, object };
  };
  const groups = planned.groups.map((group) => ({ ...group, children: group.children.map(kept) }));
  return isShared ? { ...planned, groups } : planned;
}

const NOT_CONTENT = new Set(['apiVersion', 'kind', 'metadata', 'status', 'type']);

/** The content of a sensitive object is sensitive for its own reconciler too. */
function sensitiveOf(kind: Kind, object: KubeObject): Set<string> | undefined {
  if (!kind.sensitive) return undefined;
  const found = new Set<string>();
  // By name, because looking at metadata or status would count as a read.
  const parts = Object.keys(object).filter((name) => !NOT_CONTENT.has(name));
  for (const name of parts) collectSensitive((object as KubeObject & Record<string, unknown>)[name], found);
  return found;
}

/** Whether the kind's status has the field at all: only kinds of ours say so. */
function hasObservedGeneration(kind: unknown): boolean {
  const { schema } = kind as { schema?: JsonSchema };
  return schema?.properties?.['status']?.properties?.['observedGeneration'] !== undefined;
}

/** Most objects of some reconcilers have no children: the id of their inventory is not needed. */
class LazyOwnership implements Ownership {
  readonly owner: InventoryOwner;
  readonly object: KubeObject;
  #inventory: InventoryId | undefined;

  constructor(owner: InventoryOwner, object: KubeObject) {
    this.owner = owner;
    this.object = object;
  }

  get inventory(): InventoryId {
    this.#inventory ??= inventoryId(this.owner);
    return this.#inventory;
  }
}

/** Reads without tracking: a change of the memory wakes no reconciler. */
function memoryOf(
  tracker: Tracker,
  table: Table<KubeObject>,
  { worldFor: find, sources, world }: Places,
  key: ObjectKey,
  ownership: (view: KubeObject) => Ownership,
): Memory {
  const owner = () => tracker.get(table, key, memoryView);
  return {
    get own() {
      const view = owner();
      return view === undefined ? undefined : (wholeOf(view) as { status?: { memory?: unknown } }).status?.memory;
    },
    of(kind, ref) {
      const place = find(kind);
      const from = place?.childTable(kind) ?? place?.readTable(kind);
      const view = from === undefined ? undefined : tracker.get(from, keyOf(ref), memoryView);
      const owned = owner();
      if (view === undefined || owned === undefined) return undefined;
      const own = ownership(wholeOf(owned));
      const identityOf = () => tracker.get(sources.identities, world.name) ?? '';
      return storedMemory(wholeOf(view), placeOf(kind) === undefined ? own : ownedElsewhere(own, identityOf()));
    },
  };
}

/** How an object stands to the one that is reconciled; woken when that changes. */
function standingIn(
  tracker: Tracker,
  from: {
    readonly table: Table<KubeObject>;
    readonly place: Places;
    readonly key: ObjectKey;
    readonly manager: string;
    ownership(view: KubeObject): Ownership;
  },
  kind: Kind,
  ref: ObjectRef,
): Standing['is'] {
  const world = from.place.worldFor(kind);
  const objects = world?.readTable(kind) ?? tableFor(from.place, kind);
  const owner = tracker.get(from.table, from.key, ownerView);
  const found = tracker.get(objects, keyOf(ref), childView);
  if (found === undefined || owner === undefined) return 'absent';
  return standingOf(wholeOf(found), claimantOf(from.ownership(wholeOf(owner)), from.manager)).is;
}

/** Where a reconciler reads and writes. */
interface Places {
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

function worldFor(sources: ReadSources, own: World, kind: Kind): World | undefined {
  const name = placeOf(kind);
  return name === undefined ? own : sources.worlds.get(name);
}

/** Children in another cluster are known by the identity of their owner's cluster, and no owner reference reaches them. */
function ownedElsewhere({ owner, object }: Ownership, cluster: string): Ownership {
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

function observe(tracker: Tracker, observation: Observation): Observed {
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

function tableFor({ reconciler, sources, worldFor: find }: Places, kind: Kind): Table<KubeObject> {
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
