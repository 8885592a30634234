// What a gateway may do in its own cluster: the objects of its namespace that it syncs and reports, its lease, its node.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import { apply, type Child } from '@capstan/reconcile';
import { GROUP } from '../kinds/index.ts';
import { GATEWAY, GATEWAY_LABELS } from './gateway-daemon-set.ts';

const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

/** In the namespace of the member. */
export const GATEWAY_RULES = [
  { apiGroups: [GROUP], resources: ['clusters', 'endpoints', 'gateways', 'cablepolicies'], verbs: ALL },
  {
    apiGroups: [GROUP],
    resources: ['clusters/status', 'gateways/status', 'cablepolicies/status'],
    verbs: ['get', 'update', 'patch'],
  },
  { apiGroups: [GROUP], resources: ['submariners'], verbs: ['get', 'list', 'watch'] },
  // A copy of the broker's settings.
  { apiGroups: [GROUP], resources: ['brokers'], verbs: ALL },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ALL,
  },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/**
 * Node labels and annotations carry settings of a gateway (gateway.submariner.io/…); the uid of kube-system distinguishes its
 * cluster from others.
 */
export const NODE_RULES = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
];

/** The most that the Role of a gateway holds; which Secret it may renew depends on its Submariner. */
export const GRANTED_TO_GATEWAYS = [
  ...GATEWAY_RULES,
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'] },
];

/** The token for the broker is renewed in its Secret; a gateway may touch no other. */
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
