// The account of an operator inside `capstan up`: as in a pod, with the rules that `capstan rbac` prints and no others.
import { type LogicalCluster, serviceAccountUser } from '@capstan/apiserver';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  ServiceAccount,
} from '@capstan/kube';
import { type ManagerConnection, type Operator, rbacManifests, SYSTEM_NAMESPACE } from '@capstan/reconcile';

const FIELD_MANAGER = 'capstan';

/** The account and its rules, as they are in this version: what was granted before and is not needed any more is removed. */
export async function grantOperator(operator: Operator, admin: Client, signal: AbortSignal): Promise<void> {
  for (const manifest of rbacManifests(operator, { namespace: SYSTEM_NAMESPACE })) {
    await admin.apply(kindOf(manifest), manifest, { fieldManager: FIELD_MANAGER, force: true, signal });
  }
}

/** A connection in this process that authenticates as the operator's ServiceAccount. */
export function connectOperator(operator: Operator, cluster: LogicalCluster): ManagerConnection {
  const account = `capstan-${operator.name}`;
  const user = serviceAccountUser(SYSTEM_NAMESPACE, account);
  const transport = cluster.server.transport({ user, userAgent: account });
  return { ...transport, context: cluster.name, namespace: SYSTEM_NAMESPACE };
}

const RBAC_KINDS: readonly Kind[] = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

function kindOf(manifest: KubeObject): Kind {
  const found = RBAC_KINDS.find(({ kind }) => kind === manifest.kind);
  if (!found) throw new TypeError(`permissions of a kind that is not expected here: ${manifest.kind}`);
  return found;
}
