// The roles and bindings that every Kubernetes cluster starts with, as far as this server has their resources. They are created when they
// are absent. Rules that a later version adds are added to existing roles, unless the annotation forbids it. No rule is ever removed from
// them.
import type { UnknownObject } from '@capstan/kube';
import { type Core, newUid, timestamp } from '../core.ts';
import { missingRules, type PolicyRule, rulesOf } from './policy-rule.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, MASTERS, RBAC_GROUP } from './rbac.ts';

export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate';

/** Creates the missing ones before the first request. */
export function installBootstrapRoles(core: Core): void {
  for (const role of ROLES) {
    const present = core.store.get(CLUSTER_ROLES, role.name);
    if (!present) core.store.put(CLUSTER_ROLES, role.name, clusterRole(core, role));
    else if (present.metadata.annotations?.[AUTOUPDATE] !== 'false' && role.rules) {
      const missing = missingRules(rulesOf(present), role.rules);
      if (missing.length === 0) continue;
      core.store.put(CLUSTER_ROLES, role.name, { ...present, rules: [...rulesOf(present), ...missing] });
    }
  }
  for (const { name, groups } of BINDINGS) {
    if (core.store.get(CLUSTER_ROLE_BINDINGS, name)) continue;
    core.store.put(CLUSTER_ROLE_BINDINGS, name, {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: metadata(core, name, {}),
      roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
      subjects: groups.map((group) => ({ apiGroup: RBAC_GROUP, kind: 'Group', name: group })),
    });
  }
}

interface BootstrapRole {
  name: string;
  labels?: Record<string, string>;
  rules?: readonly PolicyRule[];
  /** Made of all roles with this label. */
  aggregates?: string;
}

function clusterRole(core: Core, { name, labels = {}, rules, aggregates }: BootstrapRole): UnknownObject {
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'ClusterRole',
    metadata: metadata(core, name, labels),
    ...(aggregates !== undefined && {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregates]: 'true' } }] },
    }),
    rules: rules ?? [],
  };
}

function metadata(core: Core, name: string, labels: Record<string, string>) {
  return {
    name,
    uid: newUid(core.random),
    creationTimestamp: timestamp(core.clock),
    annotations: { [AUTOUPDATE]: 'true' },
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  };
}

const TO_ADMIN = `${RBAC_GROUP}/aggregate-to-admin`;
const TO_EDIT = `${RBAC_GROUP}/aggregate-to-edit`;
const TO_VIEW = `${RBAC_GROUP}/aggregate-to-view`;

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const on = (groups: string, resources: string, verbs: readonly string[]): PolicyRule => ({
  apiGroups: groups.split(' '),
  resources: resources.split(' '),
  verbs,
});

const VIEWED: readonly [group: string, resources: string][] = [
  [
    '',
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
  ],
  [
    '',
    'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
  ],
  ['', 'namespaces'],
  ['discovery.k8s.io', 'endpointslices'],
  [
    'apps',
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
  ],
  ['autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'],
  ['batch', 'cronjobs cronjobs/status jobs jobs/status'],
  [
    'extensions',
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
  ],
  ['policy', 'poddisruptionbudgets poddisruptionbudgets/status'],
  ['networking.k8s.io', 'ingresses ingresses/status networkpolicies'],
  ['resource.k8s.io', 'resourceclaims resourceclaims/status resourceclaimtemplates'],
];

const EDITED: readonly [group: string, resources: string][] = [
  ['', 'pods pods/attach pods/exec pods/portforward pods/proxy'],
  [
    '',
    'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
  ],
  [
    'apps',
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
  ],
  ['autoscaling', 'horizontalpodautoscalers'],
  ['batch', 'cronjobs jobs'],
  [
    'extensions',
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
  ],
  ['policy', 'poddisruptionbudgets'],
  ['networking.k8s.io', 'ingresses networkpolicies'],
  ['resource.k8s.io', 'resourceclaims resourceclaimtemplates'],
];

const EVENTS: PolicyRule = { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: READ };
const paths = (...urls: string[]): PolicyRule => ({ nonResourceURLs: urls, verbs: ['get'] });
const HEALTH_AND_VERSION = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

const ROLES: readonly BootstrapRole[] = [
  {
    name: 'cluster-admin',
    rules: [on('*', '*', ['*']), { nonResourceURLs: ['*'], verbs: ['*'] }],
  },
  { name: 'admin', aggregates: TO_ADMIN },
  { name: 'edit', labels: { [TO_ADMIN]: 'true' }, aggregates: TO_EDIT },
  { name: 'view', labels: { [TO_EDIT]: 'true' }, aggregates: TO_VIEW },
  {
    name: 'system:aggregate-to-admin',
    labels: { [TO_ADMIN]: 'true' },
    rules: [
      on('authorization.k8s.io', 'localsubjectaccessreviews', ['create']),
      on(RBAC_GROUP, 'rolebindings roles', ALL),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    labels: { [TO_EDIT]: 'true' },
    rules: [
      on('', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy', READ),
      on('', 'serviceaccounts', ['impersonate']),
      on('', 'pods/eviction', ['create']),
      on('', 'serviceaccounts/token', ['create']),
      { ...EVENTS, verbs: WRITE },
      ...EDITED.map(([group, resources]) => on(group, resources, WRITE)),
      on('coordination.k8s.io', 'leases', ALL),
    ],
  },
  {
    name: 'system:aggregate-to-view',
    labels: { [TO_VIEW]: 'true' },
    rules: [EVENTS, ...VIEWED.map(([group, resources]) => on(group, resources, READ))],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      on('authentication.k8s.io', 'tokenreviews', ['create']),
      on('authorization.k8s.io', 'subjectaccessreviews', ['create']),
    ],
  },
  {
    name: 'system:basic-user',
    rules: [
      on('authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews', ['create']),
      on('authentication.k8s.io', 'selfsubjectreviews', ['create']),
    ],
  },
  {
    name: 'system:discovery',
    rules: [paths('/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', ...HEALTH_AND_VERSION)],
  },
  { name: 'system:public-info-viewer', rules: [paths(...HEALTH_AND_VERSION)] },
  {
    name: 'system:monitoring',
    rules: [paths('/healthz', '/healthz/*', '/livez', '/livez/*', '/readyz', '/readyz/*', '/metrics')],
  },
];

const BINDINGS: readonly { name: string; groups: readonly string[] }[] = [
  { name: 'cluster-admin', groups: [MASTERS] },
  { name: 'system:basic-user', groups: ['system:authenticated'] },
  { name: 'system:discovery', groups: ['system:authenticated'] },
  { name: 'system:monitoring', groups: ['system:monitoring'] },
  { name: 'system:public-info-viewer', groups: ['system:authenticated', 'system:unauthenticated'] },
];
