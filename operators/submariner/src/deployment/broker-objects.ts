// The objects of a broker, and those of a member on it. A member has rights in one namespace only.
import {
  type Client,
  type Clock,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  discover,
  isAlreadyExists,
  type KubeObject,
  Namespace,
  type OwnerReference,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
  sleep,
} from '@capstan/kube';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, GROUP, Submariner } from '../kinds/index.ts';

export const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];
export const ADMIN = 'submariner-k8s-broker-admin';
const IDENTITY_ROLE = 'submariner-identity';
export const CLIENT_ROLE = 'submariner-k8s-broker-cluster';
const FIELD_MANAGER = 'subctl';

/** The rights of a member on the broker. */
export const CLIENT_RULES = [
  {
    apiGroups: [GROUP],
    resources: ['clusters', 'endpoints', 'cablepolicies'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [GROUP], resources: ['brokers'], verbs: ['get', 'list', 'watch'] },
  // The options of drivers that policies of the broker name.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  // The heartbeat of the member, which shows the broker that it is alive (memberTimeout).
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'create', 'patch', 'delete'],
  },
];

/** The objects that joining needs on the broker: an account for the new member, bound to the members' role, and to replace an old member. */
const ADMIN_RULES = [
  { apiGroups: [GROUP], resources: ['clusters', 'endpoints'], verbs: ['get', 'list', 'delete'] },
  { apiGroups: [GROUP], resources: ['cablepolicies'], verbs: ['get', 'list', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'delete'] },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'create', 'delete'] },
  { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['rolebindings'],
    verbs: ['get', 'create', 'update', 'patch', 'delete'],
  },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], resourceNames: [CLIENT_ROLE], verbs: ['bind'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles'],
    verbs: ['get', 'create', 'update', 'patch', 'delete'],
  },
];

/**
 * Lets a member renew its own token and remove its own account, and no other. The account owns the role and its binding, so they are
 * deleted with it.
 */
export async function allowSelfService(
  { client, signal }: Pick<Steps, 'client' | 'signal'>,
  namespace: string,
  account: string,
  ownerReferences: readonly OwnerReference[],
): Promise<void> {
  const name = `${account}-token`;
  const rbac = 'rbac.authorization.k8s.io';
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { namespace, name, ownerReferences: [...ownerReferences] },
    rules: [
      { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [account], verbs: ['create'] },
      { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: [account], verbs: ['delete'] },
      { apiGroups: [rbac], resources: ['rolebindings'], resourceNames: [account, name], verbs: ['delete'] },
      { apiGroups: [rbac], resources: ['roles'], resourceNames: [name], verbs: ['delete'] },
    ],
  };
  await client.apply(Role, role, { fieldManager: FIELD_MANAGER, force: true, signal });
  await bind({ client, signal }, namespace, account, name, { name, ownerReferences });
}

export interface Steps {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function installCrds({ client, clock, signal }: Steps): Promise<void> {
  for (const kind of KINDS)
    await client.apply(CustomResourceDefinition, kind.crd(), { fieldManager: FIELD_MANAGER, force: true, signal });
  for (let tries = 0; tries < 150; tries++) {
    const served = await discover(client, { signal });
    if (KINDS.every(({ apiVersion, kind }) => served.kindOf(apiVersion, kind) !== undefined)) return;
    await sleep(clock, 200, signal);
  }
}

export async function ensureNamespace({ client, signal }: Steps, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await client.apply(Namespace, object, { fieldManager: FIELD_MANAGER, force: true, signal });
}

export async function ensureBrokerRoles({ client, signal }: Steps, namespace: string): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER, force: true, signal };
  const metadata = (name: string) => ({ namespace, name });
  const rbac = 'rbac.authorization.k8s.io/v1';
  await client.apply(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(ADMIN) }, options);
  for (const [name, rules] of [
    [ADMIN, ADMIN_RULES],
    [CLIENT_ROLE, CLIENT_RULES],
  ] as const) {
    const role = { apiVersion: rbac, kind: 'Role', metadata: metadata(name), rules };
    await client.apply(Role, role, options);
  }
  await bind({ client, signal }, namespace, ADMIN, ADMIN);
  // A member identifies a cluster by the uid of kube-system. It may read nothing else outside the broker's namespace.
  const identity = `${IDENTITY_ROLE}-${namespace}`;
  const rules = [{ apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] }];
  await client.apply(
    ClusterRole,
    { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: identity }, rules } as KubeObject,
    options,
  );
  const binding = {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: identity },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: identity },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: `system:serviceaccounts:${namespace}` }],
  };
  await client.apply(ClusterRoleBinding, binding, options);
}

export async function bind(
  { client, signal }: Pick<Steps, 'client' | 'signal'>,
  namespace: string,
  account: string,
  role: string,
  {
    name = account,
    ownerReferences = [],
  }: { readonly name?: string; readonly ownerReferences?: readonly OwnerReference[] } = {},
): Promise<void> {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { namespace, name, ...(ownerReferences.length > 0 && { ownerReferences: [...ownerReferences] }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  };
  await client.apply(RoleBinding, binding, { fieldManager: FIELD_MANAGER, force: true, signal });
}

/** Creates a token of an account for a year. The gateway renews it before it expires. */
export async function tokenOf(
  { client, signal }: Pick<Steps, 'client' | 'signal'>,
  namespace: string,
  account: string,
): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: { expirationSeconds: 365 * 24 * 3600 },
  };
  const { body } = await client.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: request,
    signal,
  });
  const { status } = (body ?? {}) as { status?: { token?: string } };
  return status?.token ?? '';
}

/** Creates an object that then belongs to the user. Returns false if it exists already. */
export async function createOnce(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

export async function ensureSecret(
  { client, signal }: Steps,
  namespace: string,
  name: string,
  data: Record<string, string>,
): Promise<void> {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, type: 'Opaque', data };
  await client.apply(Secret, secret, { fieldManager: FIELD_MANAGER, force: true, signal });
}
