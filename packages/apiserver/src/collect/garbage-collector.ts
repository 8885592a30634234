// Owner references: the handling of dependents when their owner is deleted.
//   background  the owner is gone; dependents whose every owner is gone are deleted
//   foreground  the owner waits (finalizer foregroundDeletion) until the dependents that block it are gone
//   orphan      dependents lose the reference first (finalizer orphan), then the owner goes
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/
import type { OwnerReference, UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import type { Core } from '../core.ts';
import type { StoreEvent } from '../store/history.ts';

interface Place {
  resource: string;
  key: string;
}

export function startGarbageCollector(
  core: Core,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const alive = new Map<string, Place>();
  /** By the uid of the owner, then by place. */
  const dependents = new Map<string, Map<string, Place>>();
  const at = ({ resource, key }: Place) => core.store.get(resource, key);

  const link = (place: Place, owners: readonly OwnerReference[]) => {
    for (const { uid } of owners) {
      const known = dependents.get(uid) ?? new Map<string, Place>();
      dependents.set(uid, known.set(`${place.resource} ${place.key}`, place));
    }
  };
  const unlink = (place: Place, owners: readonly OwnerReference[]) => {
    for (const { uid } of owners) {
      const known = dependents.get(uid);
      known?.delete(`${place.resource} ${place.key}`);
      if (known?.size === 0) dependents.delete(uid);
    }
  };

  const observe = (event: StoreEvent) => {
    const { object, previous } = event;
    const place = { resource: event.resource, key: event.key };
    const before = previous?.metadata.ownerReferences ?? [];
    const owners = object.metadata.ownerReferences ?? [];
    const uid = object.metadata.uid ?? '';
    if (event.deleted) {
      alive.delete(uid);
      unlink(place, before);
      for (const dependent of dependents.get(uid)?.values() ?? []) run(() => collectDependent(dependent));
      for (const owner of before) run(() => finishOwner(owner.uid));
      return;
    }
    alive.set(uid, place);
    if (before !== owners) {
      unlink(place, before);
      link(place, owners);
      if (owners.some((owner) => !alive.has(owner.uid) || isWaiting(at(alive.get(owner.uid) ?? place))))
        run(() => collectDependent(place));
      for (const owner of before) run(() => finishOwner(owner.uid));
    }
    if (object.metadata.deletionTimestamp !== undefined && policyOf(object)) run(() => finishOwner(uid));
  };

  /** Deletes a dependent whose owners are gone, or takes the references to gone owners off one that has others. */
  const collectDependent = async (place: Place): Promise<void> => {
    const object = at(place);
    const owners = object?.metadata.ownerReferences ?? [];
    if (!object || owners.length === 0) return;
    const states = owners.map((owner) => ({ uid: owner.uid, state: stateOf(object, owner) }));
    if (states.some(({ state }) => state === 'unknown')) return;
    const leaving = new Set(states.filter(({ state }) => state !== 'solid').map(({ uid }) => uid));
    if (leaving.size === 0) return;
    if (leaving.size < new Set(owners.map(({ uid }) => uid)).size) return detach(place, leaving);
    if (object.metadata.deletionTimestamp !== undefined) return;
    const waiting = states.some(({ state }) => state === 'waiting');
    const own = [...(dependents.get(object.metadata.uid ?? '')?.values() ?? [])];
    const hasDependents = own.length > 0;
    // A circle of owners: each would wait for the next one. This one lets its owners go.
    if (waiting && own.some((dependent) => isWaiting(at(dependent)))) await unblock(place);
    await operations.remove(
      place.resource,
      place.key,
      object.metadata.uid,
      waiting && hasDependents ? 'Foreground' : 'Background',
    );
  };

  /** Does the work that an owner in deletion waits for, and releases it at the end. */
  const finishOwner = async (uid: string): Promise<void> => {
    const place = alive.get(uid);
    const owner = place && at(place);
    if (!place || owner?.metadata.deletionTimestamp === undefined) return;
    const policy = policyOf(owner);
    const mine = [...(dependents.get(uid)?.values() ?? [])];
    if (policy === 'orphan') {
      for (const dependent of mine) await detach(dependent, new Set([uid]));
      await operations.dropFinalizer(place.resource, place.key, 'orphan');
    } else if (policy === 'foregroundDeletion') {
      for (const dependent of mine) await collectDependent(dependent);
      const blocking = mine.filter((dependent) =>
        at(dependent)?.metadata.ownerReferences?.some((one) => one.uid === uid && one.blockOwnerDeletion === true),
      );
      if (blocking.length === 0) await operations.dropFinalizer(place.resource, place.key, 'foregroundDeletion');
    }
  };

  const unblock = (place: Place) =>
    operations.change(place.resource, place.key, (object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        ownerReferences: (object.metadata.ownerReferences ?? []).map((one) => ({ ...one, blockOwnerDeletion: false })),
      },
    }));

  const detach = (place: Place, uids: ReadonlySet<string>) =>
    operations.change(place.resource, place.key, (object) => {
      const { ownerReferences = [], ...metadata } = object.metadata;
      const left = ownerReferences.filter(({ uid }) => !uids.has(uid));
      return { ...object, metadata: left.length > 0 ? { ...metadata, ownerReferences: left } : metadata };
    });

  /** A kind that is not served may come back: no dependents are deleted because of it. */
  const stateOf = (dependent: UnknownObject, owner: OwnerReference): 'solid' | 'waiting' | 'gone' | 'unknown' => {
    const served = core.registry.findKind(owner.apiVersion, owner.kind);
    if (!served) return 'unknown';
    // A cluster-scoped object cannot have an owner in a namespace: which one is not to be known.
    if (served.resource.namespaced && dependent.metadata.namespace === undefined) return 'unknown';
    const place = alive.get(owner.uid);
    const object = place && at(place);
    if (!object || place.resource !== served.resource.storageKey || object.metadata.name !== owner.name) return 'gone';
    // An owner in another namespace is no owner.
    if (served.resource.namespaced && object.metadata.namespace !== dependent.metadata.namespace) return 'gone';
    return isWaiting(object) ? 'waiting' : 'solid';
  };

  for (const resource of core.registry.all()) {
    for (const { key, object } of core.store.list(resource.storageKey, '')) {
      const place = { resource: resource.storageKey, key };
      alive.set(object.metadata.uid ?? '', place);
      link(place, object.metadata.ownerReferences ?? []);
      if (object.metadata.ownerReferences) run(() => collectDependent(place));
      if (object.metadata.deletionTimestamp !== undefined) run(() => finishOwner(object.metadata.uid ?? ''));
    }
  }
  core.store.subscribe(undefined, observe);
}

function policyOf({ metadata }: UnknownObject): 'orphan' | 'foregroundDeletion' | undefined {
  if (metadata.finalizers?.includes('orphan')) return 'orphan';
  return metadata.finalizers?.includes('foregroundDeletion') ? 'foregroundDeletion' : undefined;
}

function isWaiting(object: UnknownObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined && policyOf(object) === 'foregroundDeletion';
}
