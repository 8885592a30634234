// From a plan and what the caches show to the writes that are left to do. Pure, and itself a tracked computation: it is
// evaluated again exactly when the plan, a child, the inventory or the owner's status changes, so drift needs no resync.
import { type Kind, type KubeObject, refOf } from '@capstan/kube';
import { PAUSED_ANNOTATION } from '../marks.ts';
import { isRemoved, mergeConditions } from '../plan/conditions.ts';
import { conditionsOf, type Plan } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import type { Ownership } from './child-body.ts';
import { ownerReference } from './child-body.ts';
import { type ChildVerdict, childWrite } from './child-diff.ts';
import { type DiffInput, identity, originalAnnotation, sharedAnnotation } from './input.ts';
import { patchWrite, restoreWrite } from './patch-diff.ts';
import { type DeleteWrite, NOTHING, type Note, type PendingGroup, type StatusWrite, type WriteSet } from './writes.ts';

/** The writes that are left until the plan is so. */
export function diff(input: DiffInput): WriteSet {
  const { plan, ownership, observed } = input;
  const owner = ownership.object;
  if (owner.metadata.annotations?.[PAUSED_ANNOTATION] === 'true') return paused(input);

  const notes: Note[] = [];
  const isHeld = observed.finalizers().includes(input.finalizer);
  const isDeleting = owner.metadata.deletionTimestamp !== undefined;
  // Being deleted and not held by us: Kubernetes removes it and its children; nothing is ours to do.
  if (isDeleting && !isHeld) return NOTHING;

  const pending: PendingGroup[] = [];
  const planned = new Set<string>();
  const patchedHere = new Set<string>();
  for (const group of plan.groups) {
    const writes = [];
    for (const child of group.children) {
      planned.add(identity(child.kind, child.ref));
      const verdict = childWrite(child, input);
      notes.push(...notesOf(verdict));
      if (verdict.write !== undefined) writes.push(verdict.write);
    }
    for (const patch of group.patches) {
      patchedHere.add(identity(patch.kind, patch.ref));
      const verdict = patchWrite(patch, input);
      notes.push(...notesOf(verdict));
      if (verdict.write !== undefined) writes.push(verdict.write);
    }
    for (const removal of group.removals) {
      const target = observed.object(removal.kind, removal.ref);
      if (target?.metadata.uid !== removal.uid || target.metadata.deletionTimestamp) continue;
      writes.push({ verb: 'delete', because: 'removed', ...removal } as const);
    }
    const { name, quietMs, preflight, open, waitingFor } = group;
    if (!open) notes.push({ about: 'waiting', message: waitingFor ?? `${name} is held back` });
    if (writes.length > 0 || !open) pending.push({ name, writes, quietMs, preflight, open, waitingFor });
  }

  const givenBack = (plan.prune ? observed.marked() : []).flatMap(({ kind, object }) => {
    const id = identity(kind, object.metadata);
    const ref = refOf(object);
    const { annotations = {} } = object.metadata;
    return [
      ...(originalAnnotation(ownership) in annotations && !patchedHere.has(id)
        ? [restoreWrite(kind, object, originalAnnotation(ownership))]
        : []),
      ...(sharedAnnotation(ownership) in annotations && !planned.has(id)
        ? [{ verb: 'withdraw', kind, ref } as const]
        : []),
    ];
  });
  if (givenBack.length > 0) {
    pending.push({
      name: 'give back',
      writes: givenBack,
      quietMs: 0,
      preflight: false,
      open: true,
      waitingFor: undefined,
    });
  }

  const inventory = plan.prune ? observed.inventory() : [];
  const unplanned = inventory.filter(({ kind, object }) => !planned.has(identity(kind, object.metadata)));
  const isDone = pending.length === 0;
  const prune = isDone ? unplanned.filter(({ object }) => !object.metadata.deletionTimestamp).map(pruneWrite) : [];
  const finalizer = finalizerChange(input, { isHeld, isDeleting, isEmpty: isDone && unplanned.length === 0 });

  return {
    finalizer,
    groups: pending,
    prune,
    status: statusWrite(input, notes),
    events: plan.events,
    threw: false,
    notes,
  };
}

function notesOf(verdict: ChildVerdict): readonly Note[] {
  return verdict.note === undefined ? [] : [verdict.note];
}

function pruneWrite({ kind, object }: { kind: Kind; object: KubeObject }): DeleteWrite {
  return { verb: 'delete', kind, ref: refOf(object), uid: object.metadata.uid ?? '', because: 'pruned' };
}

/** On before the first child that needs it, off when everything of ours is gone. */
function finalizerChange(
  { plan, ownership, hasRelease }: DiffInput,
  state: { isHeld: boolean; isDeleting: boolean; isEmpty: boolean },
): 'add' | 'remove' | undefined {
  if (state.isDeleting) return plan.outcome === 'released' && state.isEmpty ? 'remove' : undefined;
  const wanted =
    plan.held ??
    (hasRelease ||
      plan.groups.some(
        (group) => group.children.some((child) => !isCollected(child, ownership)) || group.patches.length > 0,
      ));
  if (wanted === state.isHeld) return undefined;
  return wanted ? 'add' : 'remove';
}

/** Whether Kubernetes' garbage collector removes the child with its owner. */
function isCollected(child: Plan['groups'][number]['children'][number], ownership: Ownership): boolean {
  if (child.how === 'keep' || (child.how === 'createOnly' && !child.owned)) return true;
  if (child.how === 'share') return false;
  return ownerReference(ownership.object, child.ref.namespace) !== undefined;
}

/** Only the status changes: for objects whose reconciler threw. Nothing else is touched on the word of a broken plan. */
export function statusOnly(input: DiffInput): WriteSet {
  return { ...NOTHING, threw: true, status: statusWrite({ ...input, plan: SILENT_PLAN }, []) };
}

function paused(input: DiffInput): WriteSet {
  const notes: Note[] = [{ about: 'paused', message: `writes are stopped by the annotation ${PAUSED_ANNOTATION}` }];
  return { ...NOTHING, status: statusWrite({ ...input, plan: SILENT_PLAN }, notes), notes };
}

const SILENT_PLAN: Plan = {
  outcome: 'desired',
  held: undefined,
  groups: [],
  prune: false,
  status: undefined,
  conditions: [],
  memory: undefined,
  events: [],
  progress: undefined,
};

/** Conditions that the runtime itself sets, on kinds that have a status: present only while they hold. */
function runtimeConditions(input: DiffInput, notes: readonly Note[]) {
  const trouble = input.observed.trouble();
  const conflict = notes.find((note) => note.about === 'conflict');
  const problem = trouble ?? (conflict && ({ reason: 'Conflict', message: conflict.message } as const));
  const rolledBack = notes.find((note) => note.about === 'rolledBack');
  const isPaused = notes.find((note) => note.about === 'paused');
  return [
    condition('ReconcileError', problem?.reason, problem?.message),
    condition('RolledBack', rolledBack && 'RolledBack', rolledBack?.message),
    condition('Paused', isPaused && 'Paused', isPaused?.message),
  ];
}

function condition(type: string, reason: string | undefined, message = '') {
  return { type, status: reason === undefined ? 'Unknown' : 'True', reason: reason ?? '', message } as const;
}

function statusWrite(input: DiffInput, notes: readonly Note[]): StatusWrite | undefined {
  const { plan, ownership, observed, hasStatus, isPrimary } = input;
  if (!hasStatus) return undefined;
  const { generation } = ownership.object.metadata;
  const current = observed.status();
  const base: Record<string, unknown> = { ...plan.status };
  if (isPrimary && generation !== undefined && plan !== SILENT_PLAN) base['observedGeneration'] = generation;
  if (plan.memory !== undefined) base['memory'] = plan.memory;
  const existing = conditionsOf(current);
  const conditions = [...plan.conditions, ...runtimeConditions(input, notes)].filter(
    (wanted) => !isRemoved(wanted) || existing.some(({ type }) => type === wanted.type),
  );
  const isUrgent =
    mergeStatus(current, base) !== current && Object.keys(base).length > 0
      ? true
      : mergeConditions(existing, conditions, generation, () => '').changed;
  const merged = plan.progress === undefined ? base : { ...base, ...plan.progress };
  if (!isUrgent && (plan.progress === undefined || mergeStatus(current, plan.progress) === current)) return undefined;
  return { input: merged, conditions, generation, isUrgent };
}
