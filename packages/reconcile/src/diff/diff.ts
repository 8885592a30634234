// From a plan and the caches to the remaining writes. Pure, and itself a tracked computation: it is evaluated again exactly when the plan,
// a child, the inventory or the owner's status changes, so drift needs no resync.
import { type Kind, type KubeObject, refOf } from '@capstan/kube/cluster';
import { DefinitionErrors } from '../errors.ts';
import { sharingManager } from '../inventory.ts';
import { ADOPTED_ANNOTATION, PAUSED_ANNOTATION } from '../marks.ts';
import { allows, appliedEntry, claimantOf, decide, type Ownership, type Permit } from '../ownership/index.ts';
import { type Child, type Group, type Patch, type Plan, placeOf, type Removal } from '../plan/index.ts';
import { ownerReference } from './child-body.ts';
import { type ChildVerdict, childWrite } from './child-diff.ts';
import {
  type DiffInput,
  describe,
  type Failure,
  type Inventoried,
  identity,
  inputFor,
  memoryAnnotation,
  originalAnnotation,
  sharedAnnotation,
} from './input.ts';
import { patchWrite, plannedFields, restoreWrite } from './patch-diff.ts';
import { isPaused, pausedNote } from './pause.ts';
import { SILENT_PLAN, shownBy, statusWrite } from './status-diff.ts';
import {
  type DeleteWrite,
  NOTHING,
  type Note,
  type PendingGroup,
  settledOnce,
  type WithdrawWrite,
  type WriteSet,
} from './writes.ts';

/** The writes that are left until the plan is so. */
export function diff(input: DiffInput): WriteSet {
  const { plan, ownership, observed } = input;
  if (isPaused(ownership.object)) return paused(input);
  const isHeld = observed.finalizers().includes(input.finalizer);
  const isDeleting = ownership.object.metadata.deletionTimestamp !== undefined;
  // Being deleted and not held by us: Kubernetes removes it and its children; nothing is ours to do.
  if (isDeleting && !isHeld) return NOTHING;

  const notes: Note[] = [];
  const groups: PendingGroup[] = [];
  let holds = false;
  /** The remaining writes of a group, and further events to wait for: later groups wait for both. */
  const add = (verdicts: readonly ChildVerdict[], group: Omit<PendingGroup, 'writes'>) => {
    const writes = verdicts.flatMap(({ write }) => write ?? []);
    notes.push(...verdicts.flatMap(({ note }) => note ?? []));
    holds ||= verdicts.some((verdict) => verdict.holds);
    if (writes.length > 0 || !group.open) groups.push({ ...group, writes });
    const waitsFor = verdicts.flatMap((verdict) => verdict.waitsFor ?? []);
    if (waitsFor.length > 0)
      groups.push({ ...UNCONDITIONAL, name: group.name, writes: [], open: false, waitingFor: waitsFor.join('; ') });
  };

  for (const group of plan.groups) {
    const { name, quietMs, quietAtCreation, preflight, open, waitingFor } = group;
    if (!open) notes.push({ about: 'waiting', message: waitingFor ?? `${name} is held back` });
    add(groupVerdicts(group, input), { name, quietMs, quietAtCreation, preflight, open, waitingFor });
  }
  const inventory = plan.prune ? observed.inventory() : [];
  const unplanned = unplannedOf(input, inventory);
  if (plan.prune) add([...givenBack(input), ...unplanned.givenBack], { ...UNCONDITIONAL, name: 'give back' });

  const isDone = groups.length === 0;
  const away = plan.prune && (isDeleting || isHeld) ? (observed.awayWorlds?.() ?? []) : [];
  const isEmpty = isDone && unplanned.deleted.length === 0 && away.length === 0;
  if (isDeleting && away.length > 0) notes.push({ about: 'away', message: waitsForWorlds(away) });
  const prunable = isDone
    ? unplanned.deleted.filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    : [];
  for (const { kind, object } of prunable) if (isPaused(object)) notes.push(pausedNote(kind, refOf(object)));
  const shown = shownBy(input, notes);

  return settledOnce({
    finalizer: finalizerChange(input, { isHeld, isDeleting, isEmpty, holds }),
    groups,
    prune: prunable
      .filter(({ object }) => !isPaused(object))
      .map((one) => deleteWrite(one, input, { mode: 'unplanned' }, 'pruned')),
    inventory: inventory.length,
    status: statusWrite(input, shown.conditions),
    events: plan.events,
    alerts: [...shown.alerts, ...(plan.alerts ?? [])],
    threw: undefined,
    notes,
    ...laterOf(input),
  });
}

/** Children that stay until something is so. */
function laterOf({ plan, observed }: DiffInput): Pick<WriteSet, 'later'> {
  const later = plan.groups
    .flatMap(({ children }) => children)
    .flatMap((child) => {
      if (child.how !== 'keep' || child.until === undefined) return [];
      const { kind, ref, until } = child;
      return observed.object(kind, ref) === undefined ? [] : [{ kind, ref, until }];
    });
  return later.length === 0 ? {} : { later };
}

const UNCONDITIONAL = {
  quietMs: 0,
  quietAtCreation: false,
  preflight: false,
  open: true,
  waitingFor: undefined,
} as const;

function groupVerdicts({ children, patches, removals }: Group, input: DiffInput): ChildVerdict[] {
  const patched = patches.map((patch) => {
    const id = identity(patch.kind, patch.ref);
    const all = patchesOf(input.plan).filter((each) => identity(each.kind, each.ref) === id);
    return unlessAway(patch.kind, input, (place) => patchWrite(patch, plannedFields(all), place));
  });
  return [
    ...children.map((child) => unlessAway(child.kind, input, (place) => childWrite(child, place))),
    ...patched,
    ...removals.map((removal) => unlessAway(removal.kind, input, (place) => removalVerdict(removal, place))),
  ];
}

/** An object in a world that cannot be read is not judged: the diff waits for it. */
function unlessAway(kind: Kind, input: DiffInput, verdict: (input: DiffInput) => ChildVerdict): ChildVerdict {
  const away = input.observed.away?.(kind);
  return away === undefined
    ? verdict(inputFor(input, kind))
    : { waitsFor: away, note: { about: 'away', message: away } };
}

/** Gone is gone: one that has taken the name since stays, and one that lingers is waited for. */
function removalVerdict(removal: Removal, input: DiffInput): ChildVerdict {
  const { kind, ref, uid, provenance } = removal;
  const target = input.observed.object(kind, ref);
  const intent = { mode: 'remove', uid, ...(provenance && { provenance }) } as const;
  const decision = decide(intent, target, claimantOf(input.ownership, input.manager));
  if ('conflict' in decision) {
    const message = `${describe(kind, ref)} ${decision.conflict}`;
    return { waitsFor: message, note: { about: 'conflict', message } };
  }
  if (target === undefined || !allows(decision, 'delete')) return {};
  if (isPaused(target)) return { note: pausedNote(kind, ref) };
  if (target.metadata.deletionTimestamp !== undefined) return { waitsFor: `${describe(kind, ref)} to be deleted` };
  return { write: deleteWrite({ kind, object: target, may: decision.may }, input, intent, 'removed') };
}

/** Others' objects that carry marks of ours and that the plan no longer mentions. */
function givenBack(input: DiffInput): ChildVerdict[] {
  const { plan, observed } = input;
  const marked = observed.marked();
  if (marked.length === 0) return [];
  const patched = new Set(patchesOf(plan).map(({ kind, ref }) => identity(kind, ref)));
  const planned = plannedChildren(plan);
  return marked.flatMap(({ kind, object }): ChildVerdict[] => {
    const { annotations = {} } = object.metadata;
    const id = identity(kind, object.metadata);
    const ref = refOf(object);
    const place = inputFor(input, kind);
    const { ownership } = place;
    const isPatched = originalAnnotation(ownership) in annotations || memoryAnnotation(ownership) in annotations;
    const isRestored = isPatched && !patched.has(id);
    // A copy of a shared object has the annotation too; only the server's record of our field manager cannot be copied.
    const isShared =
      sharedAnnotation(ownership) in annotations &&
      appliedEntry(object, sharingManager(place.manager, ownership.inventory)) !== undefined;
    const isWithdrawn = isShared && !planned.has(id);
    if (!isRestored && !isWithdrawn) return [];
    if (isPaused(object)) return [{ note: pausedNote(kind, ref), waitsFor: pausedNote(kind, ref).message }];
    return [
      ...(isRestored ? restored(kind, object, place) : []),
      ...(isWithdrawn ? [{ write: withdrawWrite(kind, object, place) }] : []),
    ];
  });
}

function restored(kind: Kind, object: KubeObject, place: DiffInput): ChildVerdict[] {
  const write = restoreWrite(kind, object, place);
  return write === undefined ? [] : [{ write }];
}

interface Unplanned {
  /** Objects that we created. */
  readonly deleted: readonly { kind: Kind; object: KubeObject; may: Permit<'delete'> }[];
  /** Objects that were there before us. */
  readonly givenBack: readonly ChildVerdict[];
}

/** Objects that carry our label and that the plan does not mention; one that a user copied ours to is neither of the two. */
function unplannedOf(input: DiffInput, inventory: readonly Inventoried[]): Unplanned {
  const planned = plannedChildren(input.plan);
  const deleted: { kind: Kind; object: KubeObject; may: Permit<'delete'> }[] = [];
  const givenBack: ChildVerdict[] = [];
  for (const { kind, object, prunes = true } of inventory) {
    if (planned.has(identity(kind, object.metadata))) continue;
    const { ownership, manager } = inputFor(input, kind);
    const decision = decide({ mode: 'unplanned' }, object, claimantOf(ownership, manager));
    if (allows(decision, 'delete')) {
      if (prunes) deleted.push({ kind, object, may: decision.may });
    } else if (allows(decision, 'giveBack')) {
      const note = pausedNote(kind, refOf(object));
      if (isPaused(object)) givenBack.push({ note, waitsFor: note.message });
      else if (object.metadata.deletionTimestamp === undefined)
        givenBack.push({ write: giveBackWrite(kind, object, manager) });
    }
  }
  return { deleted, givenBack };
}

function giveBackWrite(kind: Kind, object: KubeObject, manager: string): WithdrawWrite {
  const { uid = '', resourceVersion = '' } = object.metadata;
  const common = { verb: 'withdraw', kind, ref: refOf(object), manager, uid, resourceVersion } as const;
  return { ...common, annotation: ADOPTED_ANNOTATION, keepsFields: true };
}

function withdrawWrite(kind: Kind, object: KubeObject, { manager, ownership }: DiffInput): WithdrawWrite {
  const { uid = '', resourceVersion = '' } = object.metadata;
  const sharer = sharingManager(manager, ownership.inventory);
  const annotation = sharedAnnotation(ownership);
  return { verb: 'withdraw', kind, ref: refOf(object), manager: sharer, annotation, uid, resourceVersion };
}

function patchesOf(plan: Plan): readonly Patch[] {
  return plan.groups.flatMap(({ patches }) => patches);
}

function plannedChildren(plan: Plan): ReadonlySet<string> {
  return new Set(plan.groups.flatMap(({ children }) => children.map(({ kind, ref }) => identity(kind, ref))));
}

function deleteWrite(
  { kind, object, may }: { kind: Kind; object: KubeObject; may: Permit<'delete'> },
  input: DiffInput,
  intent: DeleteWrite['intent'],
  because: DeleteWrite['because'],
): DeleteWrite {
  const { uid = '', resourceVersion } = object.metadata;
  const { ownership, manager } = inputFor(input, kind);
  const claimant = claimantOf(ownership, manager);
  const version = resourceVersion === undefined ? {} : { resourceVersion };
  return { verb: 'delete', may, kind, ref: refOf(object), uid, ...version, because, intent, claimant };
}

/** On before the first child that needs it, off when everything of ours is gone. */
function finalizerChange(
  { plan, ownership, hasRelease, mayHold = true }: DiffInput,
  { isHeld, isDeleting, isEmpty, holds }: { isHeld: boolean; isDeleting: boolean; isEmpty: boolean; holds: boolean },
): 'add' | 'remove' | undefined {
  if (isDeleting) return plan.outcome === 'released' && isEmpty ? 'remove' : undefined;
  // A plan that removes nothing does not define which children are no longer needed.
  const undecided = plan.prune ? false : isHeld;
  const wanted =
    plan.held ?? (hasRelease || holds || plan.groups.some((group) => needsHolding(group, ownership)) || undecided);
  if (wanted && !mayHold) throw DefinitionErrors.CannotHold(ownership.owner.reconciler);
  if (wanted) return isHeld ? undefined : 'add';
  return isHeld && isEmpty ? 'remove' : undefined;
}

/** Whether something of the group would be left behind when its owner vanishes. */
function needsHolding({ children, patches }: Group, ownership: Ownership): boolean {
  return children.some((child) => !isCollected(child, ownership)) || patches.some(({ restore }) => restore);
}

function waitsForWorlds(away: readonly string[]): string {
  const names = away.join(', ');
  return `the deletion waits for the clusters that may hold children and cannot be reached (${names}); restore the connection, or delete their kubeconfig Secrets to give up the objects there`;
}

/** Whether Kubernetes' garbage collector removes the child with its owner. */
function isCollected(child: Child, ownership: Ownership): boolean {
  if (placeOf(child.kind) !== undefined && child.how !== 'keep') return false;
  if (child.how === 'keep' || (child.how === 'createOnly' && !child.owned)) return true;
  if (child.how === 'share') return false;
  return ownerReference(ownership.object, child.ref.namespace) !== undefined;
}

/** Only the status changes: for objects whose reconciler threw. Nothing else is touched on the word of a broken plan. */
export function statusOnly(input: DiffInput, threw: string): WriteSet {
  const failure: Failure = { reason: 'Threw', message: threw };
  return { ...silently({ ...input, observed: { ...input.observed, failure: () => failure } }, []), threw };
}

/** Writes only the report about the object: for objects that cannot be planned yet. */
export function reportOnly(input: DiffInput): WriteSet {
  return silently(input, []);
}

function paused(input: DiffInput): WriteSet {
  return silently(input, [{ about: 'paused', message: `writes are stopped by the annotation ${PAUSED_ANNOTATION}` }]);
}

function silently(input: DiffInput, notes: readonly Note[]): WriteSet {
  const silent = { ...input, plan: SILENT_PLAN };
  const { conditions, alerts } = shownBy(silent, notes);
  return { ...NOTHING, status: statusWrite(silent, conditions), alerts, notes };
}
