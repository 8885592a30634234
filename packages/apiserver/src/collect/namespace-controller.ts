import type { UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import { type Core, timestamp } from '../core.ts';
import { equalJson, isObject, valueAt } from '../json/copy.ts';
import type { Resource } from '../resources/resource.ts';

const NAMESPACES = '/namespaces';
const PODS = '/pods';

interface Remaining {
  /** As in `deployments.apps`; the core group ends in a dot. */
  resource: string;
  objects: readonly UnknownObject[];
}

interface NamespaceCondition {
  type: string;
  status: 'True' | 'False';
  lastTransitionTime?: string;
  reason: string;
  message: string;
}

/** Empties a namespace that is being deleted, and lets it go when nothing is left in it. */
export function startNamespaceController(
  core: Core,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const isTerminating = (name: string) => core.store.get(NAMESPACES, name)?.metadata.deletionTimestamp !== undefined;

  const empty = async (name: string) => {
    const namespace = core.store.get(NAMESPACES, name);
    const held = valueAt(namespace, ['spec', 'finalizers']);
    if (!namespace || !isTerminating(name) || !Array.isArray(held) || !held.includes('kubernetes')) return;
    // One that an admission wants to keep does not keep the others.
    const refusals: unknown[] = [];
    const left: Remaining[] = [];
    // Pods go before the objects that they may need to end: their configuration, their accounts and the roles of these.
    for (const isPods of [true, false]) {
      for (const resource of core.registry.all()) {
        if (!resource.namespaced || (resource.storageKey === PODS) !== isPods) continue;
        const { storageKey } = resource;
        for (const { key } of core.store.list(storageKey, `${name}/`)) {
          await operations.remove(storageKey, key).catch((error: unknown) => refusals.push(error));
        }
        const objects = core.store.list(storageKey, `${name}/`).map(({ object }) => object);
        if (objects.length > 0) left.push({ resource: nameOfResource(resource), objects });
      }
      if (isPods && left.length > 0) break;
    }
    if (left.length > 0) await report(name, left);
    if (refusals.length > 0) throw refusals[0];
    if (left.length > 0) return;
    const finalized = (object: typeof namespace) => {
      const spec = isObject(object['spec']) ? object['spec'] : {};
      return { ...object, spec: { ...spec, finalizers: held.filter((one) => one !== 'kubernetes') } };
    };
    await operations.change(NAMESPACES, name, finalized, 'finalize');
  };

  /** Writes the reasons for the wait into the status of the namespace. */
  const report = (name: string, left: readonly Remaining[]) =>
    operations.change(
      NAMESPACES,
      name,
      (namespace) => {
        const status = isObject(namespace['status']) ? namespace['status'] : {};
        const before = Array.isArray(status['conditions']) ? (status['conditions'] as NamespaceCondition[]) : [];
        const conditions = conditionsOf(left).map((wanted) => {
          const old = before.find(({ type }) => type === wanted.type);
          const isSame = old?.status === wanted.status;
          return { ...wanted, lastTransitionTime: isSame ? old.lastTransitionTime : timestamp(core.clock) };
        });
        return equalJson(before, conditions) ? namespace : { ...namespace, status: { ...status, conditions } };
      },
      'status',
    );

  for (const { key } of core.store.list(NAMESPACES, '')) if (isTerminating(key)) run(() => empty(key));
  core.store.subscribe(undefined, (event) => {
    if (event.resource === NAMESPACES) {
      if (!event.deleted && event.object.metadata.deletionTimestamp !== undefined) run(() => empty(event.key));
      return;
    }
    const { namespace } = event.object.metadata;
    if (event.deleted && namespace !== undefined && isTerminating(namespace)) run(() => empty(namespace));
  });
}

const nameOfResource = ({ plural, group }: Resource) => `${plural}.${group}`;

/** The conditions by which Kubernetes reports the deletion of a namespace, in its words. */
function conditionsOf(left: readonly Remaining[]): NamespaceCondition[] {
  const finalizers = new Map<string, number>();
  for (const { metadata } of left.flatMap(({ objects }) => objects)) {
    for (const one of metadata.finalizers ?? []) finalizers.set(one, (finalizers.get(one) ?? 0) + 1);
  }
  const remaining = left.map(({ resource, objects }) => `${resource} has ${objects.length} resource instances`);
  const held = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
  const fine = (type: string, reason: string, message: string) => ({ type, status: 'False' as const, reason, message });
  return [
    fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    fine(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    {
      type: 'NamespaceContentRemaining',
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: `Some resources are remaining: ${remaining.toSorted().join(', ')}`,
    },
    held.length > 0
      ? {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${held.toSorted().join(', ')}`,
        }
      : fine('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'),
  ];
}
