// The rights of a gateway in its own cluster: the objects that it syncs and reports, its lease, its node. The rules are constants, so that
// the operator need not load the program. A test compares them with those that the program declares.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import { apply, type Child } from '@capstan/reconcile';
import { GROUP } from '../kinds/index.ts';
import { GATEWAY, GATEWAY_LABELS } from './gateway-daemon-set.ts';

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'patch', 'delete'];

/** Rights in the namespace of the member. */
export const GATEWAY_RULES = [
  // A Broker in this namespace is a copy of the broker's settings.
  {
    apiGroups: [GROUP],
    resources: ['brokers', 'cablepolicies', 'clusters', 'endpoints'],
    verbs: [...READ, ...WRITE],
  },
  { apiGroups: [GROUP], resources: ['cablepolicies/status', 'clusters/status'], verbs: ['patch'] },
  // Its Cluster owns its Endpoint.
  { apiGroups: [GROUP], resources: ['clusters/finalizers'], verbs: ['update'] },
  { apiGroups: [GROUP], resources: ['gateways'], verbs: ['get', 'list', ...WRITE] },
  { apiGroups: [GROUP], resources: ['submariners'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: READ },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'watch', 'update', ...WRITE] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** Labels and annotations of Nodes hold settings of a gateway (gateway.submariner.io/…). The uid of kube-system identifies its cluster. */
export const NODE_RULES = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
  { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
];

/** The largest set of rights of a gateway's Role. The Secret that it may renew depends on its Submariner. */
export const GRANTED_TO_GATEWAYS = [
  ...GATEWAY_RULES,
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'] },
];

/** Returns the rights to renew the token for the broker in its Secret, and in no other Secret. */
function secretRules(brokerSecret: string | undefined) {
  if (brokerSecret === undefined) return [];
  return [{ apiGroups: [''], resources: ['secrets'], resourceNames: [brokerSecret], verbs: ['get', 'patch'] }];
}

export function gatewayPermissions(namespace: string, brokerSecret: string | undefined): Child[] {
  const own = { namespace, name: GATEWAY, labels: GATEWAY_LABELS };
  const wide = `${GATEWAY}:${namespace}`;
  const subjects = [{ kind: 'ServiceAccount', name: GATEWAY, namespace }];
  const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({
    apiGroup: 'rbac.authorization.k8s.io',
    kind,
    name,
  });
  return [
    apply(ServiceAccount, { metadata: own }),
    apply(Role, { metadata: own, rules: [...GATEWAY_RULES, ...secretRules(brokerSecret)] }),
    apply(RoleBinding, { metadata: own, roleRef: roleRef('Role', GATEWAY), subjects }),
    apply(ClusterRole, { metadata: { name: wide, labels: GATEWAY_LABELS }, rules: NODE_RULES }),
    apply(ClusterRoleBinding, {
      metadata: { name: wide, labels: GATEWAY_LABELS },
      roleRef: roleRef('ClusterRole', wide),
      subjects,
    }),
  ];
}
