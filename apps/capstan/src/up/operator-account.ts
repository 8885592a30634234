// The accounts of operators inside `capstan up`. Each writes under its own account, with exactly the rules that `capstan rbac` prints, as
// in a pod. The shared caches are filled under an account that may read everything that one of them may read, and write nothing.
import { type LogicalCluster, serviceAccountUser } from '@capstan/apiserver';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  type Kind,
  type KubeObject,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import {
  boundsOf,
  type ManagerConnection,
  type Operator,
  type PolicyRule,
  rbacManifests,
  SYSTEM_NAMESPACE,
  writePolicies,
} from '@capstan/reconcile';

const FIELD_MANAGER = 'capstan';

/**
 * Grants the account its rules of this version: former rules that are no longer needed are removed. The cluster belongs to one user, who is
 * its administrator: a bound that comes with Capstan allows all requests of packages.
 */
export async function grantOperator(operator: Operator, admin: Client, signal: AbortSignal): Promise<void> {
  const bounds = new Set(boundsOf(operator).map(({ role }) => role));
  for (const manifest of rbacManifests(operator, { namespace: SYSTEM_NAMESPACE })) {
    const isBound = manifest.kind === ClusterRole.kind && bounds.has(manifest.metadata.name ?? '');
    const { apiVersion, kind, metadata } = manifest;
    const granted = isBound ? { apiVersion, kind, metadata, rules: ANYTHING } : manifest;
    await admin.apply(kindOf(manifest), granted, { fieldManager: FIELD_MANAGER, force: true, signal });
  }
  // The policy of a bound is about every write of the cluster, and here the bound allows everything.
  for (const policy of writePolicies([operator], { namespace: SYSTEM_NAMESPACE, bounds: false }))
    await admin.apply(kindOf(policy), policy, { fieldManager: FIELD_MANAGER, force: true, signal });
}

const ANYTHING = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

/** The account that fills the caches. */
export async function grantReader(operators: readonly Operator[], admin: Client, signal: AbortSignal): Promise<void> {
  const all = {
    name: READER,
    kinds: [],
    reconcilers: operators.flatMap(({ reconcilers }) => reconcilers),
    sinks: operators.flatMap(({ sinks = [] }) => sinks),
  };
  for (const manifest of rbacManifests(all, { namespace: SYSTEM_NAMESPACE, bounds: false })) {
    const read = 'rules' in manifest ? { ...manifest, rules: readOnly(manifest.rules as PolicyRule[]) } : manifest;
    await admin.apply(kindOf(manifest), read, { fieldManager: FIELD_MANAGER, force: true, signal });
  }
}

export function connectReader(cluster: LogicalCluster): ManagerConnection {
  return connectAs(`capstan-${READER}`, cluster);
}

/** A connection in this process that authenticates as the operator's ServiceAccount. */
export function connectOperator(operator: Operator, cluster: LogicalCluster): ManagerConnection {
  return connectAs(`capstan-${operator.name}`, cluster);
}

function connectAs(account: string, cluster: LogicalCluster): ManagerConnection {
  const user = serviceAccountUser(SYSTEM_NAMESPACE, account);
  const transport = cluster.server.transport({ user, userAgent: account });
  return { ...transport, context: cluster.name, namespace: SYSTEM_NAMESPACE };
}

const READER = 'caches';
const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function readOnly(rules: readonly PolicyRule[]): PolicyRule[] {
  return rules
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => READING.has(verb)) }))
    .filter(({ verbs }) => verbs.length > 0);
}

const RBAC_KINDS: readonly Kind[] = [
  Namespace,
  ServiceAccount,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
];

function kindOf(manifest: KubeObject): Kind {
  const found = RBAC_KINDS.find(({ kind }) => kind === manifest.kind);
  if (!found) throw new TypeError(`permissions of a kind that is not expected here: ${manifest.kind}`);
  return found;
}
