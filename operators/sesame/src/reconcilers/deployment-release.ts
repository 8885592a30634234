// The deletion of a SesameDeployment: the order in which its objects go.
import {
  ClusterRole,
  ClusterRoleBinding,
  DaemonSet,
  Deployment,
  type Kind,
  type ObjectRef,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from '@capstan/kube';
import { conditionType, keep, type Patch, type Plan, patch, plan, type Reader, released } from '@capstan/reconcile';
import { CONFIGURATION_FINALIZER } from '../deployment/finalizer.ts';
import { type InstanceId, names, watchedNamespaces } from '../deployment/instance.ts';
import { deploymentHealth } from '../deployment/workload-health.ts';
import { SesameConfiguration, type SesameDeploymentSpec } from '../kinds/index.ts';

const deleting = conditionType<'Deleting'>('Progressing');
/**
 * In order: first the senders of requests, and the configuration, which a running Sesame releases; then the workloads; then the objects
 * that they ran with. Everything that is not mentioned is removed.
 */
export function release(id: InstanceId, spec: SesameDeploymentSpec, read: Reader): Plan {
  const configuration = { namespace: id.namespace, name: names.configuration(id) };
  const left = read.get(SesameConfiguration, configuration, deletionOf);
  const rest = [...workloadRefs(id), ...foundationRefs(id, spec)].map(([kind, ref]) => keep(kind, ref));
  if (left !== undefined)
    return plan({
      children: rest,
      patches: abandoned(read, id, left) ? [withoutFinalizer(configuration, left.finalizers)] : [],
      conditions: [deleting.isTrue('Deleting', 'waiting for Sesame to release its configuration')],
    });
  const workloads = workloadRefs(id).filter(([kind, ref]) => read.get(kind, ref, identityOf) !== undefined);
  if (workloads.length > 0)
    return plan({
      children: foundationRefs(id, spec).map(([kind, ref]) => keep(kind, ref)),
      conditions: [deleting.isTrue('Deleting', 'waiting for the workloads to end')],
    });
  return released();
}

const identityOf = ({ metadata }: { metadata: { uid?: string } }) => metadata.uid;
const deletionOf = ({ metadata }: SesameConfiguration) => ({
  deletedAt: metadata.deletionTimestamp,
  finalizers: metadata.finalizers ?? [],
});

type Deletion = ReturnType<typeof deletionOf>;

/** A running Sesame has so long to release its configuration. */
const RELEASE_MS = 30_000;

/** Returns whether no Sesame will release the configuration. */
function abandoned(read: Reader, id: InstanceId, { deletedAt, finalizers }: Deletion): boolean {
  if (deletedAt === undefined || !finalizers.includes(CONFIGURATION_FINALIZER)) return false;
  const sesame = read.get(Deployment, { namespace: id.namespace, name: names.sesame(id) }, deploymentHealth);
  return (sesame?.available ?? 0) === 0 || read.reached(Date.parse(deletedAt) + RELEASE_MS);
}

function withoutFinalizer(ref: ObjectRef, finalizers: readonly string[]): Patch {
  const value = finalizers.filter((finalizer) => finalizer !== CONFIGURATION_FINALIZER);
  return patch(SesameConfiguration, ref, [{ path: '/metadata/finalizers', value }], {
    restore: false,
    explained: false,
  });
}

type ChildRef = readonly [Kind, ObjectRef];

function workloadRefs(id: InstanceId): ChildRef[] {
  const at = (name: string) => ({ namespace: id.namespace, name });
  return [
    [Deployment, at(names.sesame(id))],
    [Deployment, at(names.envoy(id))],
    [DaemonSet, at(names.envoy(id))],
  ];
}

/** The objects that the workloads run with: permissions and certificates. */
function foundationRefs(id: InstanceId, spec: SesameDeploymentSpec): ChildRef[] {
  const at = (name: string) => ({ namespace: id.namespace, name });
  const watched = watchedNamespaces({ spec, namespace: id.namespace }) ?? [];
  return [
    [ServiceAccount, at(names.sesame(id))],
    [ServiceAccount, at(names.envoy(id))],
    [ClusterRole, { name: names.clusterRole(id) }],
    [ClusterRoleBinding, { name: names.clusterRole(id) }],
    [Role, at(names.sesame(id))],
    [RoleBinding, at(names.roleBinding(id))],
    ...watched.flatMap((namespace): ChildRef[] => [
      [Role, { namespace, name: names.resourcesRole(id) }],
      [RoleBinding, { namespace, name: names.resourcesRole(id) }],
    ]),
    [Secret, at(names.pki(id))],
    [Secret, at(names.sesameCertificate(id))],
    [Secret, at(names.envoyCertificate(id))],
  ];
}
