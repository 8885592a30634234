// Writes to the object that is reconciled itself: our finalizer and its status. Both are guarded by the version that they
// were computed from, because lists (finalizers, conditions) are replaced as a whole.
import { type Client, isConflict, isNotFound, type Kind, type KubeObject, refOf } from '@capstan/kube';
import type { StatusWrite } from '../diff/index.ts';
import { mergeConditions } from '../plan/conditions.ts';
import { conditionsOf, type StatusInput } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import type { Target } from './perform.ts';

export interface OwnerWrite {
  readonly target: Target;
  readonly kind: Kind;
  /** As the cache has it, with its resourceVersion. */
  readonly object: KubeObject;
  readonly manager: string;
  readonly signal: AbortSignal;
}

/** Puts our finalizer on or takes it off. False when the object moved on: plan again. */
export function writeFinalizer(write: OwnerWrite, change: 'add' | 'remove', finalizer: string): Promise<boolean> {
  const { object, kind, manager, signal } = write;
  const current = object.metadata.finalizers ?? [];
  const finalizers = change === 'add' ? [...current, finalizer] : current.filter((name) => name !== finalizer);
  const { resourceVersion } = object.metadata;
  const patch = { metadata: { resourceVersion, finalizers } };
  return guarded(write, (client) =>
    client.patch(kind, refOf(object), 'merge', patch, { fieldManager: manager, signal }),
  );
}

/** Brings the status up to date, sending only what differs. False when the object moved on: plan again. */
export function writeStatus(write: OwnerWrite, status: StatusWrite, now: () => string): Promise<boolean> {
  const { object, kind, manager, signal } = write;
  const current = (object as { status?: StatusInput }).status;
  const { conditions, changed } = mergeConditions(conditionsOf(current), status.conditions, status.generation, now);
  const merged = mergeStatus(current, status.input);
  const next = changed ? { ...merged, conditions } : merged;
  const patch = statusPatch(current ?? {}, next);
  if (Object.keys(patch).length === 0) return Promise.resolve(true);
  const { resourceVersion } = object.metadata;
  const body = { metadata: { resourceVersion }, status: patch };
  const options = { fieldManager: manager, subresource: 'status', signal };
  return guarded(write, (client) => client.patch(kind, refOf(object), 'merge', body, options));
}

/** A merge patch from one status to the next, top-level fields that did not change left out. */
function statusPatch(from: StatusInput, to: StatusInput): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const field of Object.keys(from)) if (!(field in to)) patch[field] = null;
  for (const [field, value] of Object.entries(to)) {
    const before = from[field];
    if (value === before) continue;
    patch[field] = isRecord(before) && isRecord(value) ? statusPatch(before, value) : value;
  }
  return patch;
}

async function guarded(write: OwnerWrite, send: (client: Client) => Promise<KubeObject>): Promise<boolean> {
  const { target, kind, object, signal } = write;
  try {
    target.observeWrite(kind, await send(target.client));
    return true;
  } catch (error) {
    if (isNotFound(error)) {
      target.observeDelete(kind, object);
      return true;
    }
    if (!isConflict(error)) throw error;
    const current = await target.client.find(kind, refOf(object), { signal });
    if (current === undefined) target.observeDelete(kind, object);
    else target.observeWrite(kind, current);
    return false;
  }
}

function isRecord(value: unknown): value is StatusInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
