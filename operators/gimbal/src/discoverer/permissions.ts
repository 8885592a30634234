// The rights of a discoverer in this cluster, and no more: its own account; services and slices of all namespaces, because the mirrors go
// there; the status of its own backend; its own lease, which is created for it. The operator grants only rights that it holds itself, so it
// needs no right to escalate.
import { ClusterRole, ClusterRoleBinding, Lease, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import { apply, type Child, createOnly, type Grants } from '@capstan/reconcile';
import { LOCAL_RULES } from '../discover/command/rbac.ts';
import { CONTOUR_GROUP, type EffectiveBackend, GROUP } from '../kinds/index.ts';
import { clusterName, discovererLabels, discovererName } from './names.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export function discovererPermissions(
  effective: EffectiveBackend,
  namespace: string,
  writeEndpoints: boolean,
): Child[] {
  const name = discovererName(effective);
  const wide = clusterName(effective);
  const labels = discovererLabels(effective);
  const own = { namespace, name, labels };
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const roleRef = (kind: 'Role' | 'ClusterRole', role: string) => ({
    apiGroup: 'rbac.authorization.k8s.io',
    kind,
    name: role,
  });
  return [
    apply(ServiceAccount, { metadata: own }),
    apply(Role, { metadata: own, rules: ownRules(effective) }),
    apply(RoleBinding, { metadata: own, roleRef: roleRef('Role', name), subjects }),
    apply(ClusterRole, { metadata: { name: wide, labels }, rules: wideRules(effective, writeEndpoints) }),
    apply(ClusterRoleBinding, { metadata: { name: wide, labels }, roleRef: roleRef('ClusterRole', wide), subjects }),
    // Created here, so that the discoverer need not make leases; the one that holds it is its own business.
    createOnly(Lease, { metadata: { namespace, name: wide, labels } }),
  ];
}

/** The most that the Role of a discoverer holds, of whatever backend. */
export const GRANTED_IN_NAMESPACE: Rule[] = [
  { apiGroups: [GROUP], resources: ['discoverers', 'discoverybackends'], verbs: ['get'] },
  { apiGroups: [GROUP], resources: ['discoverers/status', 'discoverybackends/status'], verbs: ['patch'] },
  { apiGroups: [CONTOUR_GROUP], resources: ['discoveries'], verbs: ['get'] },
  { apiGroups: [CONTOUR_GROUP], resources: ['discoveries/status'], verbs: ['patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update'] },
];

/** The most that the ClusterRole of a discoverer holds. */
export function grantedEverywhere(writeEndpoints: boolean): Grants {
  const rules = wideRules({ createNamespaces: true }, writeEndpoints);
  const isOfCluster = ({ resources }: Rule) => resources.includes('namespaces');
  return { namespaced: rules.filter((rule) => !isOfCluster(rule)), cluster: rules.filter(isOfCluster) };
}

/** In its namespace: the status of its backend, under the kind that it was written as, and its lease. */
function ownRules(effective: EffectiveBackend): Rule[] {
  const { backendName, writtenAs = 'DiscoveryBackend' } = effective;
  const apiGroups = [writtenAs === 'Discovery' ? CONTOUR_GROUP : GROUP];
  const plural = writtenAs === 'Discovery' ? 'discoveries' : `${writtenAs.toLowerCase()}s`;
  const resourceNames = [backendName];
  return [
    { apiGroups, resources: [plural], resourceNames, verbs: ['get'] },
    { apiGroups, resources: [`${plural}/status`], resourceNames, verbs: ['patch'] },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: [clusterName(effective)],
      verbs: ['get', 'update'],
    },
  ];
}

/** Those that Gimbal's own discoverer left are removed: beside slices they would count twice. */
const REMOVE_ENDPOINTS_RULE: Rule = {
  apiGroups: [''],
  resources: ['endpoints'],
  verbs: ['list', 'watch', 'delete'],
};

function wideRules({ createNamespaces }: Pick<EffectiveBackend, 'createNamespaces'>, writeEndpoints: boolean): Rule[] {
  const rules = LOCAL_RULES.map(({ apiGroups, resources, verbs }) => ({
    apiGroups: [...apiGroups],
    resources: resources.filter((resource) => writeEndpoints || resource !== 'endpoints'),
    verbs: [...verbs, ...(createNamespaces && resources.some((one) => one === 'namespaces') ? ['create'] : [])],
  }));
  return writeEndpoints ? rules : [REMOVE_ENDPOINTS_RULE, ...rules];
}
