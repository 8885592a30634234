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
  type KnownChild,
  NOTHING,
  reportOnly,
  statusOnly,
  storedMemory,
  type WriteSet,
} from '../../diff/index.ts';
import { type DigestKey, keyedDigest } from '../../digest.ts';
import { type Derivation, type Engine, Suspended, type Table, type Tracker } from '../../engine/index.ts';
import { fieldManager, type InventoryId, type InventoryOwner, inventoryId } from '../../inventory.ts';
import { isPrimary, type Operator } from '../../operator.ts';
import { claimantOf, type Ownership, type Standing, standingOf } from '../../ownership/index.ts';
import { checkedPlan } from '../../plan/check-plan.ts';
import {
  type AppliedChild,
  type Child,
  type Plan,
  placeOf,
  plan,
  released,
  type StatusInput,
} from '../../plan/index.ts';
import { explainingChanges } from '../../read/changed-value.ts';
import { type ReadSources, type Run } from '../../read/read-sources.ts';
import { collectSensitive } from '../../read/sensitive.ts';
import { finalizersOf, trackedObject, wholeOf } from '../../read/tracked-object.ts';
import { declaredIn, digestOf, WorldReader } from '../../read/world-reader.ts';
import { finalizerOf, type Memory, type Reconciler, roleOf, writesElsewhere } from '../../reconciler.ts';
import type { World } from '../../worlds/index.ts';
import { NOTHING_OBSERVED, observe, ownedElsewhere, type Places, tableFor, worldFor } from './observation.ts';
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
