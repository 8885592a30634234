// Permissions of an instance's Sesame: cluster-wide, or by Roles in the namespaces that it watches. They are written out, so that the
// operator need not load the program; a test compares them with the program's declarations.
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { contourLease } from '../kinds/contour.ts';
import { GROUP } from '../kinds/index.ts';
import { type Instance, metadataOf, names, ownerLabels, watchedNamespaces } from './instance.ts';

/** Where an instance is, which namespaces it watches and which Gateways it serves: all that its permissions depend on. */
type Placed = Pick<Instance, 'name' | 'namespace' | 'spec' | 'gateway' | 'configuration'>;

/** The Gateways that a Sesame serves: none, those of the classes of its controller, or one that its configuration names. */
type Gateways = 'none' | 'of classes' | 'one';

function gatewaysOf({ configuration: { gateway } }: Pick<Instance, 'configuration'>): Gateways {
  if (gateway.gatewayRef?.name) return 'one';
  return gateway.controllerName ? 'of classes' : 'none';
}

const GATEWAY = 'gateway.networking.k8s.io';
const WATCH = ['list', 'watch'];
const READ = ['get', ...WATCH];
const EVENTS: PolicyRule = { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] };

export function serviceAccounts(instance: Instance): ChildObject<ServiceAccount>[] {
  return [names.sesame, names.envoy].map((name) => ({ metadata: metadataOf(instance, name(instance)) }));
}

/** Returns the rules that a Role cannot grant. Only Gateways need any. */
function clusterRules(gateways: Gateways): PolicyRule[] {
  if (gateways === 'none') return [];
  const namespaces = { apiGroups: [''], resources: ['namespaces'], verbs: WATCH };
  if (gateways === 'one') return [namespaces, { apiGroups: [GATEWAY], resources: ['gatewayclasses'], verbs: WATCH }];
  return [
    namespaces,
    { apiGroups: [GATEWAY], resources: ['gatewayclasses'], verbs: READ },
    { apiGroups: [GATEWAY], resources: ['gatewayclasses/status'], verbs: ['patch'] },
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

/** Returns the rules for objects that are read and reported on in watched namespaces. */
function resourceRules({ spec }: Pick<Instance, 'spec'>, gateways: Gateways): PolicyRule[] {
  const disabled = new Set(spec.sesame?.disabledFeatures ?? []);
  const enabled = (group: string) =>
    Object.entries(FEATURE_RESOURCES).flatMap(([feature, [of, resource]]) =>
      of === group && !disabled.has(feature) ? [resource] : [],
    );
  // UDPRoutes and ListenerSets only get a status that they are not supported.
  const gateway = ['gateways', 'httproutes', 'listenersets', 'udproutes', ...enabled(GATEWAY)].toSorted();
  const contours = spec.sesame?.contourCompat === true ? contourLease(spec.sesame.contourLease) : undefined;
  const own = ['httpproxies', 'tlscertificatedelegations', ...enabled(GROUP)].toSorted();
  const reported = (group: string, resources: readonly string[]): PolicyRule[] => [
    { apiGroups: [group], resources: [...resources], verbs: READ },
    { apiGroups: [group], resources: resources.map((resource) => `${resource}/status`), verbs: ['patch'] },
  ];
  return [
    { apiGroups: [''], resources: ['secrets'], verbs: READ },
    { apiGroups: [''], resources: ['services'], verbs: WATCH },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: WATCH },
    // Events are in the namespace of their object.
    EVENTS,
    ...(gateways === 'none'
      ? []
      : [
          ...reported(GATEWAY, gateway),
          { apiGroups: [GATEWAY], resources: ['referencegrants'], verbs: WATCH },
          // BackendTLSPolicies name certificates of authorities in ConfigMaps.
          { apiGroups: [''], resources: ['configmaps'], verbs: READ },
        ]),
    ...reported('networking.k8s.io', ['ingresses']),
    ...reported(GROUP, own),
    ...(contours
      ? [
          ...reported('projectcontour.io', own),
          { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [contours.name], verbs: WATCH },
        ]
      : []),
  ];
}

/** The most that the ClusterRole of an instance holds at the cluster scope. */
export const GRANTED_AT_CLUSTER: readonly PolicyRule[] = clusterRules('of classes');

/** The most that Roles of an instance hold: in its own namespace, and in those that it watches. */
export const GRANTED_IN_NAMESPACES: readonly PolicyRule[] = [
  ...resourceRules({ spec: { sesame: { contourCompat: true } } }, 'of classes'),
  ...ownRules(),
];

export function clusterRole(instance: Placed): ChildObject<ClusterRole> {
  const isEverywhere = watchedNamespaces(instance) === undefined;
  const gateways = gatewaysOf(instance);
  return {
    metadata: { name: names.clusterRole(instance), labels: ownerLabels(instance) },
    rules: [...clusterRules(gateways), ...(isEverywhere ? resourceRules(instance, gateways) : [])],
  };
}

export function clusterRoleBinding(instance: Placed): ChildObject<ClusterRoleBinding> {
  return {
    metadata: { name: names.clusterRole(instance), labels: ownerLabels(instance) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: names.clusterRole(instance) },
    subjects: [subject(instance)],
  };
}

/** In its own namespace: leases, events, and the configuration with its finalizer. */
export function ownRole(instance: Placed): ChildObject<Role> {
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    rules: ownRules(),
  };
}

function ownRules(): PolicyRule[] {
  return [
    EVENTS,
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    },
    // The finalizer is on the object itself, not on its status.
    { apiGroups: [GROUP], resources: ['sesameconfigurations'], verbs: [...READ, 'patch'] },
    { apiGroups: [GROUP], resources: ['sesameconfigurations/status'], verbs: ['patch'] },
  ];
}

export function ownRoleBinding(instance: Placed): ChildObject<RoleBinding> {
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
  const rules = resourceRules(instance, gatewaysOf(instance));
  return {
    roles: namespaces.map((namespace) => ({ metadata: at(namespace), rules })),
    bindings: namespaces.map((namespace) => ({
      metadata: at(namespace),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [subject(instance)],
    })),
  };
}

function subject(instance: Placed) {
  return { kind: 'ServiceAccount', name: names.sesame(instance), namespace: instance.namespace };
}
