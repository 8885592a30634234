import { type GeneratedKind, maybe, subset } from './kind.ts';

const RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'], verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['a'], verbs: ['get'] },
  { resources: ['pods'], verbs: ['get'] },
  { apiGroups: [''], resources: ['pods'], verbs: [] },
  { nonResourceURLs: ['/healthz'], verbs: ['get'] },
];

export const roles: GeneratedKind = {
  collection: '/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.9, () => ({ rules: subset(random, RULES.slice(0, random.pick([3, 3, 6]))) })),
  }),
  patch: (random) => random.pick<Record<string, unknown>>([{ rules: [RULES[0]] }, { rules: null }, { rules: [{}] }]),
  operations: () => [{ op: 'add', path: '/rules/-', value: RULES[1] }],
  applied: (random) => ({ rules: [random.pick(RULES.slice(0, 3))] }),
  fieldSelectors: ['metadata.name=a'],
};

export const clusterRoles: GeneratedKind = {
  ...roles,
  collection: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  kind: 'ClusterRole',
  names: ['{ns}-a', '{ns}-b'],
};

const SUBJECTS = [
  { kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' },
  { kind: 'User', name: 'bob' },
  { kind: 'ServiceAccount', name: 'default', namespace: '{ns}' },
  { kind: 'ServiceAccount', name: 'default' },
  { kind: 'Group', name: 'people', apiGroup: 'rbac.authorization.k8s.io' },
  { kind: 'Machine', name: 'x' },
];

export const roleBindings: GeneratedKind = {
  ...roles,
  collection: '/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings',
  kind: 'RoleBinding',
  content: (random) => ({
    ...maybe(random, 0.95, () => ({
      roleRef: random.pick<object>([
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'a' },
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        { kind: 'Role', name: 'a' },
        { apiGroup: 'x', kind: 'Role', name: 'a' },
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'Thing', name: '' },
      ]),
    })),
    ...maybe(random, 0.9, () => ({
      subjects: random.chance(0.6) ? [random.pick(SUBJECTS.slice(0, 3))] : subset(random, SUBJECTS),
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { subjects: [SUBJECTS[0]] },
      { subjects: null },
      { roleRef: { name: 'b' } },
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' } },
    ]),
  operations: () => [{ op: 'add', path: '/subjects/-', value: SUBJECTS[0] }],
  applied: (random) => ({
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'a' },
    subjects: [random.pick(SUBJECTS.slice(0, 3))],
  }),
};

export const leases: GeneratedKind = {
  collection: '/apis/coordination.k8s.io/v1/namespaces/{ns}/leases',
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.7, () => ({ holderIdentity: random.pick(['x', 'y', '']) })),
      ...maybe(random, 0.7, () => ({ leaseDurationSeconds: random.pick<unknown>([15, 0, -1, 'x']) })),
      ...maybe(random, 0.5, () => ({
        renewTime: random.pick(['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00Z', 'now']),
      })),
      ...maybe(random, 0.3, () => ({ leaseTransitions: random.pick([1, -1]) })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { holderIdentity: 'z' } },
      { spec: { renewTime: '2026-02-01T00:00:00.5Z' } },
      { spec: { leaseDurationSeconds: 0 } },
      { spec: null },
    ]),
  operations: () => [{ op: 'replace', path: '/spec/holderIdentity', value: 'p' }],
  applied: (random) => ({ spec: { holderIdentity: random.pick(['x', 'y']) } }),
  fieldSelectors: ['metadata.name=a'],
};

export const namespaces: GeneratedKind = {
  collection: '/api/v1/namespaces',
  apiVersion: 'v1',
  kind: 'Namespace',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({ ...maybe(random, 0.2, () => ({ spec: { finalizers: ['example.com/own'] } })) }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { finalizers: ['example.com/x'] } },
      { status: { phase: 'Terminating' } },
    ]),
  operations: () => [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
  applied: () => ({}),
  status: (random) => ({ phase: random.pick(['Active', 'Terminating']) }),
  fieldSelectors: ['status.phase=Active', 'metadata.name={ns}-a'],
};

export const clusterRoleBindings: GeneratedKind = {
  ...roleBindings,
  collection: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  kind: 'ClusterRoleBinding',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({
    ...maybe(random, 0.95, () => ({
      roleRef: random.pick<object>([
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: '{ns}-a' },
        { kind: 'ClusterRole', name: 'view' },
        { kind: 'Role', name: 'a' },
        { apiGroup: 'x', kind: 'ClusterRole', name: '' },
      ]),
    })),
    // Subjects that no other sequence asks about.
    ...maybe(random, 0.9, () => ({
      subjects: subset(random, [
        { kind: 'User', name: 'carol' },
        { kind: 'ServiceAccount', name: 'x', namespace: '{ns}' },
        { kind: 'ServiceAccount', name: 'x' },
        { kind: 'ServiceAccount', name: 'Not A Name', namespace: '{ns}' },
        { kind: 'Group', name: '' },
      ]),
    })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { subjects: [{ kind: 'User', name: 'dave' }] },
      { subjects: null },
      { roleRef: { name: 'b' } },
    ]),
  operations: () => [{ op: 'add', path: '/subjects/-', value: { kind: 'User', name: 'dave' } }],
  applied: (random) => ({
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'User', name: random.pick(['carol', 'dave']) }],
  }),
  fieldSelectors: ['metadata.name={ns}-a'],
};
