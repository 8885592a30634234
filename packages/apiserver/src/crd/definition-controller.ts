import { type CustomResourceDefinition, equal, type UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import { type Core, timestamp } from '../core.ts';
import type { WatchHub } from '../watch/watch-hub.ts';
import { approvalCondition, approvalOf } from './api-approval.ts';
import { type CustomResourceOptions, customResource } from './custom-resource.ts';
import { hasCondition, withCondition } from './definition-conditions.ts';
import { acceptedOf, namingOf, written } from './definition-names.ts';
import { CLEANUP_FINALIZER, CRD_STORAGE_KEY, isDefinition, isEstablished } from './definition-strategy.ts';

/**
 * Serves the kinds of definitions from the moment they are stored (so the answer to their creation comes after), records their accepted
 * names in the status, and removes the objects of a definition that is being deleted before it releases it.
 */
const REMOVED = 'removed all instances';

export function startDefinitionController(
  core: Core,
  hub: WatchHub,
  options: CustomResourceOptions,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const definitions = () =>
    core.store.list(CRD_STORAGE_KEY, '').flatMap(({ object }) => (isDefinition(object) ? [object] : []));
  const groupOf = ({ spec }: CustomResourceDefinition) => definitions().filter((one) => one.spec.group === spec.group);
  const find = (key: string) => {
    const crd = core.store.get(CRD_STORAGE_KEY, key);
    return crd && isDefinition(crd) ? crd : undefined;
  };

  const servedBy = ({ spec }: CustomResourceDefinition) =>
    core.registry.all().find((one) => one.custom && one.storageKey === `${spec.group}/${spec.names.plural}`);

  const serve = (crd: CustomResourceDefinition) => {
    const isNamed = isEstablished(crd) || hasCondition(crd, 'NamesAccepted');
    const isNew = !isNamed && !equal(written(crd.spec.names), acceptedOf(crd));
    if (isNamed || (isNew && namingOf(crd, groupOf(crd)).conflict === undefined)) {
      core.registry.add(customResource(crd, options));
      return;
    }
    // A user removed its conditions: they are not restored.
    const served = servedBy(crd);
    if (served) core.registry.remove(served);
  };

  const updateStatus = (key: string, edit: (object: UnknownObject, now: string) => UnknownObject) =>
    operations.change(
      CRD_STORAGE_KEY,
      key,
      (object) => edit(object, timestamp(core.clock)),
      'status',
      'kube-apiserver',
    );

  /** The names it asked for, as far as they are free; the one that waits for one of the group is re-checked after a change. */
  const name = async (key: string) => {
    const crd = find(key);
    if (!crd || equal(written(crd.spec.names), acceptedOf(crd))) return;
    const { accepted, conflict } = namingOf(crd, groupOf(crd));
    if (equal(accepted, acceptedOf(crd)) && conflict && hasReason(crd, conflict.reason, conflict.message)) return;
    const wasEstablished = isEstablished(crd);
    await updateStatus(key, (object, now) => {
      const named = { ...object, status: { ...(object['status'] as object | undefined), acceptedNames: accepted } };
      const decided = conflict
        ? withCondition(named, 'NamesAccepted', 'False', conflict.reason, conflict.message, now)
        : withCondition(named, 'NamesAccepted', 'True', 'NoConflicts', 'no conflicts found', now);
      if (wasEstablished) return decided;
      return conflict
        ? hasAny(decided, 'Established')
          ? decided
          : withCondition(decided, 'Established', 'False', 'NotAccepted', 'not all names are accepted', now)
        : withCondition(decided, 'Established', 'False', 'Installing', ACCEPTED, now);
    });
    for (const other of groupOf(crd)) {
      const one = other.metadata.name ?? '';
      if (one !== key) run(() => settle(one));
    }
  };

  const establish = async (key: string) => {
    const crd = find(key);
    if (!crd || !hasCondition(crd, 'NamesAccepted') || isEstablished(crd)) return;
    await updateStatus(key, (object, now) =>
      withCondition(object, 'Established', 'True', 'InitialNamesAccepted', ACCEPTED, now),
    );
  };

  const approve = async (key: string) => {
    const crd = find(key);
    const approval = crd && approvalOf(crd);
    if (!crd || !approval) return;
    const [status, reason, message] = approvalCondition(approval);
    if (hasReason(crd, reason, message)) return;
    await updateStatus(key, (object, now) =>
      withCondition(object, 'KubernetesAPIApprovalPolicyConformant', status, reason, message, now),
    );
  };

  const settle = async (key: string) => {
    await approve(key);
    await name(key);
    await establish(key);
  };

  const cleanUp = async (key: string) => {
    const crd = find(key);
    if (!crd || !isBeingCleared(crd)) return;
    if (!isEstablished(crd)) {
      await letGo(key, 'NeverEstablished', 'resource was never established');
      return;
    }
    const reason = 'InstanceDeletionInProgress';
    const message = 'CustomResource deletion is in progress';
    if (!hasReason(crd, reason, message)) {
      await updateStatus(key, (object, now) => withCondition(object, 'Terminating', 'True', reason, message, now));
    }
    const storageKey = `${crd.spec.group}/${crd.spec.names.plural}`;
    for (const { key: instance } of core.store.list(storageKey, '')) await operations.remove(storageKey, instance);
    if (core.store.count(storageKey) > 0) return;
    await letGo(key, 'InstanceDeletionCompleted', REMOVED);
  };

  const letGo = (key: string, reason: string, message: string) =>
    updateStatus(key, (object, now) => {
      const done = withCondition(object, 'Terminating', 'False', reason, message, now);
      const { finalizers = [], ...metadata } = done.metadata;
      const left = finalizers.filter((one) => one !== CLEANUP_FINALIZER);
      return { ...done, metadata: left.length > 0 ? { ...metadata, finalizers: left } : metadata };
    });

  for (const crd of definitions()) {
    serve(crd);
    if (!isEstablished(crd)) run(() => settle(crd.metadata.name ?? ''));
  }

  core.store.subscribe(undefined, (event) => {
    if (event.resource === CRD_STORAGE_KEY) {
      const crd: unknown = event.object;
      if (!isDefinition(crd)) return;
      if (!event.deleted) {
        serve(crd);
        if (isBeingCleared(crd)) run(() => cleanUp(event.key));
        else run(() => settle(event.key));
        return;
      }
      for (const other of groupOf(crd)) run(() => settle(other.metadata.name ?? ''));
      const served = servedBy(crd);
      if (!served) return;
      core.registry.remove(served);
      hub.endAll(served.storageKey);
      return;
    }
    if (!event.deleted) return;
    const [group = '', plural = ''] = event.resource.split('/');
    const owner = core.store.get(CRD_STORAGE_KEY, `${plural}.${group}`);
    if (owner && isBeingCleared(owner)) run(() => cleanUp(`${plural}.${group}`));
  });
}

const ACCEPTED = 'the initial names have been accepted';

function hasReason({ status }: CustomResourceDefinition, reason: string, message: string): boolean {
  return (status?.conditions ?? []).some((one) => one.reason === reason && one.message === message);
}

function hasAny(object: UnknownObject, type: string): boolean {
  const { conditions } = (object['status'] ?? {}) as { conditions?: { type: string }[] | null };
  return (conditions ?? []).some((one) => one.type === type);
}

function isBeingCleared({ metadata }: Pick<UnknownObject, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(CLEANUP_FINALIZER) === true;
}
