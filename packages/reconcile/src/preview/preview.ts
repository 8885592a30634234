// Answers the question which effects a change would have. The same reconcilers run over the caches plus an overlay: their writes are
// carried out in the overlay alone, level by level, until nothing more follows. Nothing is written. Results that depend on the server or
// the outside are listed as unknown.
import {
  equal,
  formatDuration,
  formatTime,
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectRef,
  type ValueChange,
} from '@capstan/kube/cluster';
import type { ChildWrite, Failure } from '../diff/index.ts';
import type { Fork } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime-types.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import { type PreviewDelivery, previewDeliveries } from './deliveries.ts';
import { createFetcher, describeUnknown, type FetchOptions } from './fetched.ts';
import { createForeignObjects, type ForeignObjects } from './foreign-objects.ts';
import { createMints, type Mints } from './minted.ts';
import { createOverlay, type Overlay } from './overlay.ts';
import { awaitedReports, newAlerts, newConditionProblems, type PreviewProblem } from './problems.ts';
import { createRefused } from './refused.ts';
import { createRehearsals, type Rehearsals } from './rehearsals.ts';
import { bodiesOf, type PreviewRemoval, removalsOf, stalePrunes } from './removals.ts';
import { createStanding, NO_STANDING, type Standing } from './standing.ts';
import { wouldBe } from './virtual-objects/would-be.ts';
import { carryOutVirtually, existingOf, pendingWrites, stepsOf, valued } from './virtual-steps.ts';

/**
 * One object as it would be, or gone. The object may be a manifest, the answer to a dry run, or a changed copy of the cached one: `preview`
 * fills in the server's own fields (uid, generation).
 */
export type PreviewChange =
  | { readonly world?: string; readonly kind: Kind; readonly object: KubeObject }
  | { readonly world?: string; readonly kind: Kind; readonly ref: ObjectRef; readonly gone: true };

export interface PreviewResult {
  readonly writes: readonly PreviewWrite[];
  /** The effects that follow a later event: pods that the change starts or rolls are assumed to become ready. */
  readonly later: readonly PreviewLater[];
  /** The deliveries of sinks outside the cluster. */
  readonly deliveries: readonly PreviewDelivery[];
  /** Problems that would be newly reported on objects. */
  readonly problems: readonly PreviewProblem[];
  /** Unknowns of the preview: facts that were not fetched, content that is not created yet, gates that wait. */
  readonly unknowns: readonly string[];
  /** The objects, as `Kind namespace/name`, that may be written besides: behind a gate that waits, or with content that is created first. */
  readonly mayFollow: readonly string[];
  /** The objects whose reconcilers wait for something that is not known: everything that is written for them may differ. */
  readonly undecided: readonly string[];
  /** Objects that are evaluated again after the time that a preview covers: their later effects are not shown. */
  readonly due: readonly PreviewDue[];
  /** How many levels followed one from the other. */
  readonly levels: number;
  /** The statuses of `Kind namespace/name` after each phase that writes to them, without the times of conditions. */
  readonly statuses: Readonly<Record<string, readonly unknown[]>>;
  /** The bodies that would be sent to the server, as far as they are known: for a dry run. Never Secrets. */
  readonly bodies: readonly PreviewBody[];
}

/** An object that waits for an instant because of the change. */
export interface PreviewDue {
  /** As `Kind namespace/name`. */
  readonly object: string;
  /** The instant, in RFC 3339. */
  readonly at: string;
}

export interface PreviewBody {
  readonly by: string;
  readonly kind: Kind;
  readonly body: KubeObject;
  readonly manager: string;
  readonly verb: 'apply' | 'create';
}

export interface PreviewLater extends PreviewWrite {
  /** The event that it waits for, as in `the new one is ready`. */
  readonly until: string;
}

export interface PreviewWrite {
  readonly level: number;
  /** `operator.reconciler` */
  readonly by: string;
  /** The object of the reconciler, as `Kind namespace/name`. */
  readonly for: string;
  readonly verb: ChildWrite['verb'] | 'status' | 'finalizer';
  /** The written object, as `Kind namespace/name`. */
  readonly object: string;
  /** Changed paths, at most 20; none for secrets. */
  readonly paths: readonly string[];
  /** The values at these paths, before and after; none for secrets and for objects that are created. */
  readonly changes: readonly ValueChange[];
  /** Whether the object is not there yet. */
  readonly creates?: true;
  /** Its effect on running things: `rolls pods`. */
  readonly disturbs?: string;
  /** The status ends as it began. It is written at most once a second, so that this may not be written at all. */
  readonly passing?: true;
  /** Why the object counts as one of others: it was there before, and no operator has written to it. */
  readonly foreign?: true;
}

/** More levels than any chain of resources has: past this the reconcilers chase each other. */
const MAX_LEVELS = 50;

/** Each round reveals the references of the one before: a package its content, and that its dependencies. */
const MAX_ROUNDS = 20;

/** With `fetching`, objects that the changes refer to and that nothing has read so far are fetched; otherwise they are unknown. */
export async function preview(
  runtime: Runtime,
  changes: readonly PreviewChange[],
  fetching?: FetchOptions,
): Promise<PreviewResult> {
  return (await previewWith(runtime, changes, () => undefined, fetching)).result;
}

/**
 * Returns the effects that are due without any change: the writes that a runtime which never led would make. A key whose installed program
 * would write the same has none. With changes it shows their effects too.
 */
export async function previewStanding(
  runtime: Runtime,
  fetching?: FetchOptions,
  changes: readonly PreviewChange[] = [],
): Promise<PreviewResult> {
  return (await previewWith(runtime, changes, () => undefined, fetching, true)).result;
}

/** The same, with an answer from the graph as it would be after the changes and all that follows from them. */
export async function previewWith<R>(
  runtime: Runtime,
  changes: readonly PreviewChange[],
  ask: (fork: Fork) => R,
  fetching?: FetchOptions,
  isStanding = false,
): Promise<{ readonly result: PreviewResult; readonly answer: R }> {
  // The fork is tied to one wave: take in pending changes first, and let nothing in before it is evaluated.
  await runtime.settle();
  const mints = createMints(fetching);
  const rehearsals = createRehearsals(fetching);
  const foreign = createForeignObjects(fetching);
  const run = () => {
    const overlay = createOverlay(runtime);
    const standing = isStanding ? createStanding(runtime) : NO_STANDING;
    return {
      result: previewRaw(runtime, changes, { mints, rehearsals, foreign, overlay, standing }),
      answer: ask(overlay.fork),
    };
  };
  let found = await runtime.engine.between(run);
  if (fetching === undefined) return { ...found, result: described(runtime, found.result) };
  const fetcher = createFetcher(runtime, fetching);
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const isMade = await mints.make();
      const isAsked = await rehearsals.ask();
      const isMet = await foreign.ask();
      if (!(await fetcher.fetch(found.result.unknowns)) && !isMade && !isAsked && !isMet) break;
      await runtime.settle();
      found = await runtime.engine.between(run);
    }
    return { ...found, result: described(runtime, found.result) };
  } finally {
    fetcher.stop();
  }
}

/** The same on the graph as it is; synchronous, so that no wave can come between. */
export function previewNow(runtime: Runtime, changes: readonly PreviewChange[]): PreviewResult {
  const overlay = createOverlay(runtime);
  const asked = { mints: createMints(), rehearsals: createRehearsals(), foreign: createForeignObjects() };
  const parts = { ...asked, overlay, standing: NO_STANDING };
  return described(runtime, previewRaw(runtime, changes, parts));
}

function described(runtime: Runtime, result: PreviewResult): PreviewResult {
  return { ...result, unknowns: result.unknowns.map((unknown) => describeUnknown(runtime, unknown)) };
}

/** The parts of one round: the overlay is of this round alone. */
interface PreviewParts {
  readonly mints: Mints;
  readonly rehearsals: Rehearsals;
  readonly foreign: ForeignObjects;
  readonly overlay: Overlay;
  readonly standing: Standing;
}

/** With unknowns as the engine names them. */
function previewRaw(
  runtime: Runtime,
  changes: readonly PreviewChange[],
  { mints, rehearsals, foreign, overlay, standing }: PreviewParts,
): PreviewResult {
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
  // The results of the last evaluation.
  const removals = new Map<string, readonly PreviewRemoval[]>();
  const alerts = new Map<string, readonly PreviewProblem[]>();
  const gates = new Map<string, readonly string[]>();
  const undecided = new Set<string>();
  const foreseen = new Map<string, readonly unknown[]>();
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
      for (const change of standing.changesIn(overlay.fork)) {
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
        const refused = createRefused({ overlay, rehearsals }, binding, change);
        const refusals: Failure[] = [];
        let hasWritten = false;
        for (const step of pending === undefined
          ? []
          : stepsOf(pending, { minted, gates, mints }, binding, change.key)) {
          const owner = `${binding.reconciler.resource.kind} ${change.key}`;
          if ('write' in step && foreign.isMet(step.write, binding, overlay)) {
            hasMoved = true;
            continue;
          }
          const refusal = 'write' in step && refused.of(step.write, existingOf(step.write, binding, overlay));
          if (refusal) {
            refusals.push(refusal);
            continue;
          }
          if ('status' in step && !statuses.has(owner))
            statuses.set(owner, { binding, key: change.key, before: statusIn(overlay, binding, change.key) });
          const created = carryOutVirtually(step, binding, change.key, overlay, mints);
          if (created === undefined) continue;
          if (created.verb === 'status') reported.set(id, { binding, key: change.key });
          else hasWritten = true;
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
        if (refused.report(refusals, hasWritten)) hasMoved = true;
        // Removals that wait for a refused write wait on.
        if (refusals.length > 0 || refused.isInTheWay) removals.delete(id);
      }
      if (!hasMoved) break;
    }
    const collected = overlay.collected.slice(collectedSoFar);
    collectedSoFar += collected.length;
    for (const [object, { binding, key }] of statuses)
      foreseen.set(object, [...(foreseen.get(object) ?? []), statusIn(overlay, binding, key)]);
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
  const awaited = awaitedReports(runtime, overlay.fork, standing.changesIn(overlay.fork));
  const problems = problemsOf(reported.values(), overlay, alerts.values());
  const waiting = [...awaited].flatMap(([object, sinks]) => {
    const until = `it waits for a report of the sink ${sinks.join(', ')}; what follows then is not known`;
    const messages = problems.filter((problem) => problem.object === object).map(({ message }) => message);
    return messages.length === 0 ? [`${object}: ${until}`] : messages.map((one) => `${object}: ${one} (${until})`);
  });
  const unknownIn = [...standing.unknownsIn(overlay.fork), ...overlay.fork.unknowns];
  return {
    writes,
    later,
    deliveries,
    problems: problems.filter(({ object }) => !awaited.has(object)),
    unknowns: [...new Set([...minted.keys(), ...gates.keys(), ...waiting, ...unknownIn])].toSorted(),
    mayFollow: [...new Set([...minted.values(), ...gates.values()].flat())].toSorted(),
    undecided: [...new Set([...undecided, ...awaited.keys()])].toSorted(),
    due: dueLater(runtime, overlay),
    levels,
    statuses: Object.fromEntries(foreseen),
    bodies,
  };
}

/** The earliest instant beyond the horizon that each owner waits for. */
function dueLater({ instants, bindings }: Runtime, { fork, isBeyond }: Overlay): PreviewDue[] {
  const due = new Map<string, number>();
  if (!fork.noted(instants.table).some(isBeyond)) return [];
  for (const { writes, reconciler } of bindings)
    for (const key of fork.ran(writes)) {
      const object = `${reconciler.resource.kind} ${key}`;
      for (const read of fork.notedBy(writes, key)) {
        if (read.table !== instants.table.name || !isBeyond(read.key)) continue;
        due.set(object, Math.min(due.get(object) ?? Number.POSITIVE_INFINITY, Number(read.key)));
      }
    }
  return [...due].toSorted(([, one], [, other]) => one - other).map(([object, at]) => ({ object, at: formatTime(at) }));
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
