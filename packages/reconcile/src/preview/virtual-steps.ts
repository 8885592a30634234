// The next writes of a reconciler, carried out in the overlay alone.
import { applyMergePatch, changesBetween, type KubeObject, keyOf, type ValueChange } from '@capstan/kube/cluster';
import { nextStep } from '../apply/index.ts';
import { type ChildWrite, describe, isSettled, purged, type WriteSet } from '../diff/index.ts';
import type { Change } from '../engine/index.ts';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import { placeOf } from '../plan/index.ts';
import { PRUNE_FRESH_MS } from '../runtime/writer/api-writer.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import { disturbanceOf } from './disturbance.ts';
import type { Mints } from './minted.ts';
import type { Overlay } from './overlay.ts';
import type { PreviewWrite } from './preview.ts';
import {
  VIRTUAL_UID,
  virtuallyApplied,
  virtuallyDeleted,
  virtuallyFinalized,
  virtuallyPatched,
  virtuallyWithdrawn,
  virtuallyWithStatus,
} from './virtual-objects/virtual.ts';

const MAX_PATHS = 20;

/** A step that the API writer would take. */
export type VirtualStep =
  | { write: ChildWrite }
  | { status: NonNullable<WriteSet['status']> }
  | { finalizer: 'add' | 'remove' };

export function pendingWrites(change: Change): WriteSet | undefined {
  if (change.after?.state !== 'value') return undefined;
  const writes = change.after.value as WriteSet;
  return isSettled(writes) && writes.groups.length === 0 ? undefined : writes;
}

/** Returns false for a deletion that the API writer puts off while caches are stale. */
export function isPrunable({ kind }: ChildWrite, binding: Binding): boolean {
  const { world, reconciler } = binding;
  return (
    world.isFresh([reconciler.resource], PRUNE_FRESH_MS) &&
    (binding.worldFor(kind)?.isFresh([kind], PRUNE_FRESH_MS) ?? false)
  );
}

/** Returns the next steps of the API writer, with quiet periods taken as over, and the status. */
export function* stepsOf(
  writes: WriteSet,
  unknowns: Readonly<Record<'minted' | 'gates', Map<string, readonly string[]>>> & { readonly mints: Mints },
  binding: Binding,
  key: string,
): Generator<VirtualStep> {
  const next = nextStep(writes);
  if (next?.what === 'finalizer') yield { finalizer: next.change };
  // A finalizer needs a request of its own, and its next steps are known already.
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

export function valued(changes: readonly ValueChange[]): Pick<PreviewWrite, 'paths' | 'changes'> {
  return { paths: changes.map(({ path }) => path), changes };
}

export function carryOutVirtually(
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
  overlay.put(world, resource, next);
  const verb = 'status' in step ? 'status' : 'finalizer';
  return { verb, object: `${resource.kind} ${key}`, ...valued(changes) };
}

/** The object that a write is about, as it would be by then. */
export function existingOf({ kind, ref }: ChildWrite, binding: Binding, overlay: Overlay): KubeObject | undefined {
  return overlay.get(placeOf(kind) ?? binding.world.name, kind, keyOf(ref));
}

function writeVirtually(write: ChildWrite, binding: Binding, overlay: Overlay, mints: Mints): Created | undefined {
  const { kind, ref } = write;
  const world = placeOf(kind) ?? binding.world.name;
  const existing = existingOf(write, binding, overlay);
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
    case 'purge':
      return existing && (purged(existing, write.yields, 0) ?? existing);
    case 'hold':
      return existing;
  }
}

/** A minted value replaces all content. */
function bare(existing: KubeObject | undefined): KubeObject | undefined {
  return existing && { apiVersion: existing.apiVersion, kind: existing.kind, metadata: existing.metadata };
}

/** Removes the fields that the server and the runtime keep for themselves, which do not interest users. */
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
