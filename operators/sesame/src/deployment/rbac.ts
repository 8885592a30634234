// Permissions of an instance's Sesame: cluster-wide, or by Roles in the namespaces that it watches.
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { GROUP } from '../kinds/index.ts';
import { type Instance, metadataOf, names, ownerLabels, watchedNamespaces } from './instance.ts';

const GATEWAY = 'gateway.networking.k8s.io';
const READ = ['get', 'list', 'watch'];

export function serviceAccounts(instance: Instance): ChildObject<ServiceAccount>[] {
  return [names.sesame, names.envoy].map((name) => ({ metadata: metadataOf(instance, name(instance)) }));
}

/** What cannot be granted by a Role. */
function clusterRules(): PolicyRule[] {
  return [
    { apiGroups: [GATEWAY], resources: ['gatewayclasses'], verbs: READ },
    { apiGroups: [GATEWAY], resources: ['gatewayclasses/status'], verbs: ['update', 'patch'] },
    { apiGroups: [''], resources: ['namespaces'], verbs: READ },
  ];
}

/** Routes by the feature that switches them off. */
const FEATURE_RESOURCES: Readonly<Record<string, readonly [group: string, resource: string]>> = {
  grpcroutes: [GATEWAY, 'grpcroutes'],
  tlsroutes: [GATEWAY, 'tlsroutes'],
  tcproutes: [GATEWAY, 'tcproutes'],
  backendtlspolicies: [GATEWAY, 'backendtlspolicies'],
  extensionservices: [GROUP, 'extensionservices'],
};

/** What is read and reported on in watched namespaces. */
function resourceRules({ spec }: Pick<Instance, 'spec'>): PolicyRule[] {
  const disabled = new Set(spec.sesame?.disabledFeatures ?? []);
  const enabled = (group: string) =>
    Object.entries(FEATURE_RESOURCES).flatMap(([feature, [of, resource]]) =>
      of === group && !disabled.has(feature) ? [resource] : [],
    );
  // UDPRoutes and ListenerSets only get a status that they are not supported.
  const gateway = [
    'gateways',
    'httproutes',
    'listenersets',
    'referencegrants',
    'udproutes',
    ...enabled(GATEWAY),
  ].toSorted();
  const own = ['httpproxies', 'sesameconfigurations', 'tlscertificatedelegations', ...enabled(GROUP)].toSorted();
  const statuses = (resources: readonly string[]) => resources.map((resource) => `${resource}/status`);
  return [
    { apiGroups: [''], resources: ['configmaps', 'secrets', 'services'], verbs: READ },
    // Events are in the namespace of what they are about.
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'get', 'patch', 'update'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: READ },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['create', 'get', 'patch', 'update'] },
    { apiGroups: [GATEWAY], resources: gateway, verbs: READ },
    {
      apiGroups: [GATEWAY],
      resources: statuses(gateway.filter((resource) => resource !== 'referencegrants')),
      verbs: ['patch', 'update'],
    },
    { apiGroups: [GROUP], resources: own, verbs: READ },
    { apiGroups: [GROUP], resources: statuses(own), verbs: ['create', 'get', 'patch', 'update'] },
  ];
}

/** The most that the ClusterRole of an instance holds at the cluster scope. */
export const GRANTED_AT_CLUSTER: readonly PolicyRule[] = clusterRules();

/** The most that Roles of an instance hold: in its own namespace, and in those that it watches. */
export const GRANTED_IN_NAMESPACES: readonly PolicyRule[] = [...resourceRules({ spec: {} }), ...ownRules()];

export function clusterRole(instance: Instance): ChildObject<ClusterRole> {
  const isEverywhere = watchedNamespaces(instance) === undefined;
  return {
    metadata: { name: names.clusterRole(instance), labels: ownerLabels(instance) },
    rules: [...clusterRules(), ...(isEverywhere ? resourceRules(instance) : [])],
  };
}

export function clusterRoleBinding(instance: Instance): ChildObject<ClusterRoleBinding> {
  return {
    metadata: { name: names.clusterRole(instance), labels: ownerLabels(instance) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: names.clusterRole(instance) },
    subjects: [subject(instance)],
  };
}

/** In its own namespace: leases, events, and the configuration with its finalizer. */
export function ownRole(instance: Instance): ChildObject<Role> {
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    rules: ownRules(),
  };
}

function ownRules(): PolicyRule[] {
  return [
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'get', 'patch', 'update'] },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    },
    // The finalizer is on the object itself, not on its status.
    { apiGroups: [GROUP], resources: ['sesameconfigurations'], verbs: [...READ, 'patch', 'update'] },
    { apiGroups: [GROUP], resources: ['sesameconfigurations/status'], verbs: ['get', 'patch', 'update'] },
  ];
}

export function ownRoleBinding(instance: Instance): ChildObject<RoleBinding> {
  return {
    metadata: metadataOf(instance, names.roleBinding(instance)),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: names.sesame(instance) },
    subjects: [subject(instance)],
  };
}

/** A Role and its binding in each watched namespace; none when all are watched. */
export function watchedRoles(instance: Instance): { roles: ChildObject<Role>[]; bindings: ChildObject<RoleBinding>[] } {
  const name = names.resourcesRole(instance);
  const at = (namespace: string) => ({ namespace, name, labels: ownerLabels(instance) });
  const namespaces = watchedNamespaces(instance) ?? [];
  return {
    roles: namespaces.map((namespace) => ({ metadata: at(namespace), rules: resourceRules(instance) })),
    bindings: namespaces.map((namespace) => ({
      metadata: at(namespace),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [subject(instance)],
    })),
  };
}

function subject(instance: Instance) {
  return { kind: 'ServiceAccount', name: names.sesame(instance), namespace: instance.namespace };
}
