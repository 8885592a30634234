// What would this change do? The same reconcilers run over the caches plus an overlay: their writes are carried out in the
// overlay alone, level by level, until nothing more follows. Nothing is written, and what only the server or the outside
// can tell is listed as unknown.
import {
  applyMergePatch,
  changesBetween,
  equal,
  formatDuration,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  type ObjectRef,
  type ValueChange,
} from '@capstan/kube/cluster';
import { nextStep } from '../apply/index.ts';
import { type ChildWrite, describe, isSettled, type WriteSet } from '../diff/index.ts';
import type { Change } from '../engine/index.ts';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import { placeOf } from '../plan/index.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { PRUNE_FRESH_MS } from '../runtime/writer/api-writer.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import { awaitedReports } from './awaited-reports.ts';
import { type PreviewDelivery, previewDeliveries } from './deliveries.ts';
import { disturbanceOf } from './disturbance.ts';
import { createFetcher, describeUnknown, type FetchOptions } from './fetched.ts';
import { createMints, type Mints } from './minted.ts';
import { createOverlay, type Overlay } from './overlay.ts';
import { newAlerts, newConditionProblems, type PreviewProblem } from './problems.ts';
import {
  VIRTUAL_UID,
  virtuallyApplied,
  virtuallyDeleted,
  virtuallyFinalized,
  virtuallyPatched,
  virtuallyWithdrawn,
  virtuallyWithStatus,
} from './virtual.ts';
import { wouldBe } from './would-be.ts';

/**
 * One object as it would be, or gone. The object may be a manifest, the answer to a dry run, or a changed copy of the cached one:
 * `preview` fills in what the server sets by itself (uid, generation).
 */
export type PreviewChange =
  | { readonly world?: string; readonly kind: Kind; readonly object: KubeObject }
  | { readonly world?: string; readonly kind: Kind; readonly ref: ObjectRef; readonly gone: true };

export interface PreviewResult {
  readonly writes: readonly PreviewWrite[];
  /** What follows once something is so: pods that the change starts or rolls are assumed to become ready. */
  readonly later: readonly PreviewLater[];
  /** What sinks would deliver outside the cluster. */
  readonly deliveries: readonly PreviewDelivery[];
  /** What would be reported on objects and is not reported now. */
  readonly problems: readonly PreviewProblem[];
  /** What the preview cannot know: facts not fetched, content not created yet, gates that wait. */
  readonly unknowns: readonly string[];
  /** The objects, as `Kind namespace/name`, that may be written besides: behind a gate that waits, or with content that is created first. */
  readonly mayFollow: readonly string[];
  /** The objects whose reconcilers wait for something that is not known: everything that is written for them may differ. */
  readonly undecided: readonly string[];
  /** How many levels followed one from the other. */
  readonly levels: number;
  /** What would be sent to the server, as far as it is known beforehand: for a dry run. Never Secrets. */
  readonly bodies: readonly PreviewBody[];
}

export interface PreviewBody {
  readonly by: string;
  readonly kind: Kind;
  readonly body: KubeObject;
  readonly manager: string;
  readonly verb: 'apply' | 'create';
}

interface PreviewRemoval extends Pick<PreviewWrite, 'by' | 'for' | 'object'> {
  /** As in `the new one is ready`. */
  readonly until: string;
}

export interface PreviewLater extends PreviewWrite {
  /** What it waits for, as in `the new one is ready`. */
  readonly until: string;
}

export interface PreviewWrite {
  readonly level: number;
  /** `operator.reconciler` */
  readonly by: string;
  /** What the reconciler works on, as `Kind namespace/name`. */
  readonly for: string;
  readonly verb: ChildWrite['verb'] | 'status' | 'finalizer';
  /** What is written, as `Kind namespace/name`. */
  readonly object: string;
  /** Changed paths, at most 20; none for secrets. */
  readonly paths: readonly string[];
  /** The values at these paths, before and after; none for secrets and for objects that are created. */
  readonly changes: readonly ValueChange[];
  /** Whether the object is not there yet. */
  readonly creates?: true;
  /** What it does to running things: `rolls pods`. */
  readonly disturbs?: string;
  /** The status ends as it began. It is written at most once a second, so that this may not be written at all. */
  readonly passing?: true;
  /** Why the object counts as one of others: it was there before, and no operator has written to it. */
  readonly foreign?: true;
}

/** More levels than any chain of resources has: past this the reconcilers chase each other. */
const MAX_LEVELS = 50;
const MAX_PATHS = 20;

/** Each reveals what the one before refers to: a package its content, and that its dependencies. */
const MAX_ROUNDS = 20;

/** With `fetching`, objects that the changes refer to and that nothing has read so far are fetched; otherwise they are unknown. */
export async function preview(
  runtime: Runtime,
  changes: readonly PreviewChange[],
  fetching?: FetchOptions,
): Promise<PreviewResult> {
  // The fork is tied to one wave: take in what is pending first, and let nothing in before it is evaluated.
  await runtime.settle();
  const mints = createMints(fetching);
  let result = previewRaw(runtime, changes, mints);
  if (fetching === undefined) return described(runtime, result);
  const fetcher = createFetcher(runtime, fetching);
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const isMade = await mints.make();
      if (!(await fetcher.fetch(result.unknowns)) && !isMade) break;
      await runtime.settle();
      result = previewRaw(runtime, changes, mints);
    }
    return described(runtime, result);
  } finally {
    fetcher.stop();
  }
}

/** The same on the graph as it is; synchronous, so that no wave can come between. */
export function previewNow(runtime: Runtime, changes: readonly PreviewChange[]): PreviewResult {
  return described(runtime, previewRaw(runtime, changes, createMints()));
}

function described(runtime: Runtime, result: PreviewResult): PreviewResult {
  return { ...result, unknowns: result.unknowns.map((unknown) => describeUnknown(runtime, unknown)) };
}

/** With unknowns as the engine names them. */
function previewRaw(runtime: Runtime, changes: readonly PreviewChange[], mints: Mints): PreviewResult {
  const overlay = createOverlay(runtime);
  for (const change of changes) {
    const world = change.world ?? [...runtime.worlds.keys()][0] ?? '';
    if ('gone' in change) overlay.remove(world, change.kind, change.ref);
    else
      overlay.put(
        world,
        change.kind,
        wouldBe(overlay.get(world, change.kind, keyOfObject(change.object)), change.object),
      );
  }
  const bodies: PreviewBody[] = [];
  const minted = new Map<string, readonly string[]>();
  const bindingOf = new Map<unknown, Binding>(runtime.bindings.map((binding) => [binding.writes, binding]));
  const reported = new Map<string, { binding: Binding; key: string }>();
  // Of the last evaluation.
  const removals = new Map<string, readonly PreviewRemoval[]>();
  const alerts = new Map<string, readonly PreviewProblem[]>();
  const gates = new Map<string, readonly string[]>();
  const undecided = new Set<string>();
  let level = 0;
  let collectedSoFar = 0;

  /** Evaluates and writes to the overlay, level by level, until nothing more follows. */
  function follow(): PreviewWrite[] {
    const writes: PreviewWrite[] = [];
    const seen = new Set<string>();
    /** Statuses before this phase, by object. */
    const statuses = new Map<string, { binding: Binding; key: string; before: unknown }>();
    for (const last = level + MAX_LEVELS; level < last; level++) {
      let hasMoved = false;
      for (const map of [removals, alerts, gates, undecided]) map.clear();
      for (const change of overlay.fork.evaluate()) {
        const binding = bindingOf.get(change.derivation);
        if (binding === undefined) continue;
        const id = `${binding.id} ${change.key}`;
        removals.set(id, [...removalsOf(change, binding), ...stalePrunes(change, binding)]);
        alerts.set(
          id,
          newAlerts(change.before, change.after).map((message) => problemOf(binding, change.key, message)),
        );
        if (change.after?.state === 'suspended') undecided.add(`${binding.reconciler.resource.kind} ${change.key}`);
        const pending = pendingWrites(change);
        if (pending === undefined) continue;
        for (const step of stepsOf(pending, { minted, gates, mints }, binding, change.key)) {
          const owner = `${binding.reconciler.resource.kind} ${change.key}`;
          if ('status' in step && !statuses.has(owner))
            statuses.set(owner, { binding, key: change.key, before: statusIn(overlay, binding, change.key) });
          const created = carryOutVirtually(step, binding, change.key, overlay, mints);
          if (created === undefined) continue;
          if (created.verb === 'status') reported.set(id, { binding, key: change.key });
          const written = JSON.stringify([binding.id, change.key, created.verb, created.object, created.paths]);
          if (seen.has(written)) continue;
          seen.add(written);
          hasMoved = true;
          bodies.push(...bodiesOf(step, binding));
          writes.push({
            level: level + 1,
            by: `${binding.operator.name}.${binding.reconciler.name}`,
            for: owner,
            ...created,
          });
        }
      }
      if (!hasMoved) break;
    }
    const collected = overlay.collected.slice(collectedSoFar);
    collectedSoFar += collected.length;
    const passing = new Set(
      [...statuses].flatMap(([object, { binding, key, before }]) =>
        equal(before, statusIn(overlay, binding, key)) ? [object] : [],
      ),
    );
    // A status is written at most once a second: by then an object that goes is gone.
    const lasting = writes.filter(({ verb, object }) => verb !== 'status' || !overlay.gone.has(object));
    const marked = lasting.map((write) =>
      write.verb === 'status' && passing.has(write.object) ? { ...write, passing: true as const } : write,
    );
    return [...marked, ...collected];
  }

  const writes = follow();
  const levels = level;
  const deliveries = previewDeliveries(runtime, overlay.fork);
  const later: PreviewLater[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const passedMs = overlay.becomeReady() ? 0 : overlay.pass();
    if (passedMs === undefined) break;
    const awaited = new Map([...removals.values()].flat().map(({ object, until }) => [object, until]));
    const reason = passedMs === 0 ? 'pods are ready' : `${formatDuration(passedMs)} have passed`;
    later.push(...follow().map((write) => ({ ...write, until: awaited.get(write.object) ?? reason })));
  }
  for (const { until, ...removal } of [...removals.values()].flat())
    later.push({ level: level + 1, ...removal, verb: 'delete', ...valued([]), until });
  const awaited = awaitedReports(runtime, overlay.fork);
  const problems = problemsOf(reported.values(), overlay, alerts.values());
  const waiting = [...awaited].flatMap(([object, sinks]) => {
    const until = `it waits for a report of the sink ${sinks.join(', ')}; what follows then is not known`;
    const messages = problems.filter((problem) => problem.object === object).map(({ message }) => message);
    return messages.length === 0 ? [`${object}: ${until}`] : messages.map((one) => `${object}: ${one} (${until})`);
  });
  return {
    writes,
    later,
    deliveries,
    problems: problems.filter(({ object }) => !awaited.has(object)),
    unknowns: [...new Set([...minted.keys(), ...gates.keys(), ...waiting, ...overlay.fork.unknowns])].toSorted(),
    mayFollow: [...new Set([...minted.values(), ...gates.values()].flat())].toSorted(),
    undecided: [...new Set([...undecided, ...awaited.keys()])].toSorted(),
    levels,
    bodies,
  };
}

/** The status of an object without the times of its conditions. */
function statusIn(overlay: Overlay, { world, reconciler }: Binding, key: string): unknown {
  const found = overlay.get(world.name, reconciler.resource, key) as { status?: object } | undefined;
  const { conditions, ...status } = (found?.status ?? {}) as {
    conditions?: readonly { lastTransitionTime?: string }[];
  };
  return { ...status, conditions: conditions?.map(({ lastTransitionTime: _time, ...condition }) => condition) };
}

/** Each once, although several reconcilers write to the status of one object. */
function problemsOf(
  reported: Iterable<{ binding: Binding; key: string }>,
  overlay: Overlay,
  alerts: Iterable<readonly PreviewProblem[]>,
): PreviewProblem[] {
  const found = [...reported].flatMap(({ binding, key }) => {
    const after = overlay.get(binding.world.name, binding.reconciler.resource, key);
    return newConditionProblems(binding.table.peek(key), after).map((message) => problemOf(binding, key, message));
  });
  const all = [...found, ...[...alerts].flat()].toReversed();
  return [...new Map(all.map((problem) => [`${problem.object} ${problem.message}`, problem])).values()].toReversed();
}

function problemOf({ operator, reconciler }: Binding, key: string, message: string): PreviewProblem {
  return { by: `${operator.name}.${reconciler.name}`, object: `${reconciler.resource.kind} ${key}`, message };
}

/** Of the last evaluation of a key: what it would keep for now. */
function removalsOf(change: Change, binding: Binding): PreviewRemoval[] {
  if (change.after?.state !== 'value') return [];
  const { later = [] } = change.after.value as WriteSet;
  return later.map(({ kind, ref, until }) => ({
    by: `${binding.operator.name}.${binding.reconciler.name}`,
    for: `${binding.reconciler.resource.kind} ${change.key}`,
    object: describe(kind, ref),
    until,
  }));
}

/** Deletions that the API writer puts off: an object that a stale cache does not show may still need what is to go. */
function stalePrunes(change: Change, binding: Binding): PreviewRemoval[] {
  if (change.after?.state !== 'value') return [];
  const { prune } = change.after.value as WriteSet;
  return prune
    .filter((write) => !isPrunable(write, binding))
    .map(({ kind, ref }) => ({
      by: `${binding.operator.name}.${binding.reconciler.name}`,
      for: `${binding.reconciler.resource.kind} ${change.key}`,
      object: describe(kind, ref),
      until: `the caches of ${binding.reconciler.resource.kind} and ${kind.kind} are current`,
    }));
}

function isPrunable({ kind }: ChildWrite, binding: Binding): boolean {
  const { world, reconciler } = binding;
  return (
    world.isFresh([reconciler.resource], PRUNE_FRESH_MS) &&
    (binding.worldFor(kind)?.isFresh([kind], PRUNE_FRESH_MS) ?? false)
  );
}

/** What the API writer would send; what goes to another cluster, or has no content yet, is left out. */
function bodiesOf(step: VirtualStep, binding: Binding): PreviewBody[] {
  if (!('write' in step) || (step.write.verb !== 'apply' && step.write.verb !== 'create')) return [];
  const { kind, verb, body } = step.write;
  if (kind.sensitive || (placeOf(kind) ?? binding.world.name) !== binding.world.name) return [];
  const by = `${binding.operator.name}.${binding.reconciler.name}`;
  return [{ by, kind, verb, body, manager: binding.manager }];
}

type VirtualStep =
  | { write: ChildWrite }
  | { status: NonNullable<WriteSet['status']> }
  | { finalizer: 'add' | 'remove' };

function pendingWrites(change: Change): WriteSet | undefined {
  if (change.after?.state !== 'value') return undefined;
  const writes = change.after.value as WriteSet;
  return isSettled(writes) && writes.groups.length === 0 ? undefined : writes;
}

/** What the API writer would do next, with quiet periods taken as over, and the status. */
function* stepsOf(
  writes: WriteSet,
  unknowns: Readonly<Record<'minted' | 'gates', Map<string, readonly string[]>>> & { readonly mints: Mints },
  binding: Binding,
  key: string,
): Generator<VirtualStep> {
  const next = nextStep(writes);
  if (next?.what === 'finalizer') yield { finalizer: next.change };
  // A finalizer goes on with a request of its own, and what follows it is known already.
  const group = next?.what === 'group' || next?.what === 'finalizer' ? writes.groups[0] : undefined;
  if (group !== undefined && !group.open) {
    const owner = `${binding.reconciler.resource.kind} ${key}`;
    const behind = [...writes.groups.flatMap((each) => each.writes), ...writes.prune];
    unknowns.gates.set(`${owner}: ${group.name} waits for ${group.waitingFor ?? 'its gate'}`, [
      owner,
      ...behind.map(({ kind, ref }) => describe(kind, ref)),
    ]);
  }
  for (const write of group?.open ? group.writes : []) {
    if (write.verb === 'mint') {
      const object = describe(write.kind, write.ref);
      const isUndecided = !unknowns.mints.hasContentOf(write);
      unknowns.minted.set(`${object}: its content is created when it is written`, isUndecided ? [object] : []);
    }
    yield { write };
  }
  if (next?.what === 'prune') for (const write of next.writes) if (isPrunable(write, binding)) yield { write };
  if (writes.status !== undefined) yield { status: writes.status };
}

type Created = Pick<PreviewWrite, 'verb' | 'object' | 'paths' | 'changes' | 'creates' | 'disturbs' | 'foreign'>;

function valued(changes: readonly ValueChange[]): Pick<PreviewWrite, 'paths' | 'changes'> {
  return { paths: changes.map(({ path }) => path), changes };
}

function carryOutVirtually(
  step: VirtualStep,
  binding: Binding,
  key: string,
  overlay: Overlay,
  mints: Mints,
): Created | undefined {
  const world = binding.world.name;
  const { resource } = binding.reconciler;
  if ('write' in step) return writeVirtually(step.write, binding, overlay, mints);
  const owner = overlay.get(world, resource, key);
  if (owner === undefined) return undefined;
  const next =
    'status' in step
      ? virtuallyWithStatus(owner, step.status, overlay.now)
      : virtuallyFinalized(owner, step.finalizer, binding.finalizer);
  const changes = changesBetween(owner, next, MAX_PATHS);
  const isGone =
    'finalizer' in step &&
    step.finalizer === 'remove' &&
    owner.metadata.deletionTimestamp !== undefined &&
    next.metadata.finalizers?.length === 0;
  if (isGone) overlay.delete(world, resource, owner);
  else overlay.put(world, resource, next);
  const verb = 'status' in step ? 'status' : 'finalizer';
  return { verb, object: `${resource.kind} ${key}`, ...valued(changes) };
}

function writeVirtually(write: ChildWrite, binding: Binding, overlay: Overlay, mints: Mints): Created | undefined {
  const { kind, ref } = write;
  const world = placeOf(kind) ?? binding.world.name;
  const existing = overlay.get(world, kind, keyOf(ref));
  const next =
    write.verb === 'delete'
      ? existing && virtuallyDeleted(existing, overlay.now)
      : virtualResult(write, existing, binding.manager, mints);
  const disturbs = disturbanceOf(write, existing, next);
  if (next === undefined && existing === undefined) return undefined;
  if (next === undefined) overlay.delete(world, kind, existing as KubeObject);
  else overlay.put(world, kind, next);
  const isNew = existing === undefined && next !== undefined;
  const isShown = !kind.sensitive && next !== undefined && !isNew && write.verb !== 'delete';
  const changes = isShown ? changesBetween(contentOf(existing), contentOf(next), MAX_PATHS) : [];
  return {
    verb: write.verb,
    object: describe(kind, ref),
    ...valued(changes),
    ...(isNew ? { creates: true } : {}),
    ...(disturbs === undefined ? {} : { disturbs }),
    ...(isForeign(existing) ? { foreign: true } : {}),
  };
}

/** Whether an object was there before and no operator has created it or written to it. */
function isForeign(existing: KubeObject | undefined): boolean {
  if (existing === undefined) return false;
  const { managedFields = [], labels = {}, uid } = existing.metadata;
  if (uid === VIRTUAL_UID || labels[INVENTORY_LABEL] !== undefined) return false;
  return !managedFields.some(({ manager }) => manager?.startsWith(FIELD_MANAGER_PREFIX));
}

/** The object after the write; undefined when it is gone. */
function virtualResult(
  write: Exclude<ChildWrite, { verb: 'delete' }>,
  existing: KubeObject | undefined,
  manager: string,
  mints: Mints,
): KubeObject | undefined {
  switch (write.verb) {
    case 'apply':
      return virtuallyApplied(existing, write.body, manager);
    case 'share':
      return virtuallyApplied(existing, write.body, write.manager);
    case 'create':
      return existing ?? virtuallyApplied(undefined, write.body, manager);
    case 'patch':
      return existing === undefined ? undefined : virtuallyPatched(existing, write.operations);
    case 'merge':
      return existing && (applyMergePatch(existing, write.patch) as KubeObject);
    case 'mint':
      return virtuallyApplied(bare(existing), mints.objectOf(write, existing), manager);
    case 'withdraw':
      return existing && virtuallyWithdrawn(existing, write);
    case 'hold':
      return existing;
  }
}

/** What is minted replaces all content. */
function bare(existing: KubeObject | undefined): KubeObject | undefined {
  return existing && { apiVersion: existing.apiVersion, kind: existing.kind, metadata: existing.metadata };
}

/** Without what the server and the runtime keep: people are not interested in that. */
function contentOf(object: KubeObject | undefined): unknown {
  if (object === undefined) return undefined;
  const {
    managedFields: _f,
    resourceVersion: _v,
    generation: _g,
    uid: _u,
    ...metadata
  } = withoutMarks(object.metadata);
  const { spec } = object as KubeObject & { spec?: { template?: { metadata?: KubeObject['metadata'] } } };
  const template = spec?.template?.metadata;
  const visible = { ...object, metadata };
  if (template === undefined) return visible;
  return { ...visible, spec: { ...spec, template: { ...spec?.template, metadata: withoutMarks(template) } } };
}

function withoutMarks(metadata: KubeObject['metadata']): KubeObject['metadata'] {
  const { annotations } = metadata;
  if (annotations === undefined) return metadata;
  const visible = Object.entries(annotations).filter(([name]) => !name.startsWith('capstan.dev/'));
  return { ...metadata, annotations: Object.fromEntries(visible) };
}
