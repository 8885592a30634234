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
  { apiGroups: [GROUP], resources: ['submariners', 'brokers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'],
  },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/**
 * Node labels and annotations carry settings of a gateway (gateway.submariner.io/…); the uid of kube-system tells its cluster
 * from others.
 */
export const NODE_RULES = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
];

export function gatewayPermissions(namespace: string): Child[] {
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
    apply(Role, { metadata: own, rules: GATEWAY_RULES }),
    apply(RoleBinding, { metadata: own, roleRef: roleRef('Role', GATEWAY), subjects }),
    apply(ClusterRole, { metadata: { name: wide, labels: GATEWAY_LABELS }, rules: NODE_RULES }),
    apply(ClusterRoleBinding, {
      metadata: { name: wide, labels: GATEWAY_LABELS },
      roleRef: roleRef('ClusterRole', wide),
      subjects,
    }),
  ];
}
