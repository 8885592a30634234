// Writes to the object that is reconciled itself: our finalizer and its status. Both are guarded by the version that they
// were computed from, because lists (finalizers, conditions) are replaced as a whole.
import {
  type Client,
  createMergePatch,
  isConflict,
  isNotFound,
  type Kind,
  type KubeObject,
  refOf,
} from '@capstan/kube/cluster';
import type { StatusWrite } from '../diff/index.ts';
import { mergeConditions } from '../plan/conditions.ts';
import { conditionsOf, type StatusInput } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import type { Target } from './sending.ts';

export interface OwnerWrite {
  readonly target: Target;
  readonly kind: Kind;
  /** As the cache has it, with its resourceVersion. */
  readonly object: KubeObject;
  readonly manager: string;
  readonly signal: AbortSignal;
}

/** Puts our finalizer on or takes it off. False when nothing was written: the object moved on, or is as it should be. */
export function writeFinalizer(write: OwnerWrite, change: 'add' | 'remove', finalizer: string): Promise<boolean> {
  const { object, kind, manager, signal } = write;
  const { finalizers: current = [], resourceVersion } = object.metadata;
  if (current.includes(finalizer) === (change === 'add')) return Promise.resolve(false);
  const finalizers = change === 'add' ? [...current, finalizer] : current.filter((name) => name !== finalizer);
  const patch = { metadata: { resourceVersion, finalizers } };
  return guarded(write, (client) =>
    client.patch(kind, refOf(object), 'merge', patch, { fieldManager: manager, signal }),
  );
}

/** Brings the status up to date, sending only the differences. False when nothing was written, as above. */
export function writeStatus(write: OwnerWrite, status: StatusWrite, now: () => string): Promise<boolean> {
  const { object, kind, manager, signal } = write;
  const current = (object as { status?: StatusInput }).status ?? {};
  const { conditions, changed } = mergeConditions(conditionsOf(current), status.conditions, status.generation, now);
  const merged = mergeStatus(current, status.input, now);
  const patch = createMergePatch(current, changed ? { ...merged, conditions } : merged) as object;
  if (Object.keys(patch).length === 0) return Promise.resolve(false);
  const { resourceVersion } = object.metadata;
  const body = { metadata: { resourceVersion }, status: patch };
  const options = { fieldManager: manager, subresource: 'status', signal };
  return guarded(write, (client) => client.patch(kind, refOf(object), 'merge', body, options));
}

async function guarded(write: OwnerWrite, send: (client: Client) => Promise<KubeObject>): Promise<boolean> {
  const { target, kind, object, signal } = write;
  try {
    target.observeWrite(kind, await send(target.client));
    return true;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    const current = isNotFound(error) ? undefined : await target.client.find(kind, refOf(object), { signal });
    if (current === undefined) target.observeDelete(kind, object);
    else target.observeWrite(kind, current);
    return false;
  }
}
