// The operations of single kinds: evictions of pods, tokens of accounts, and rights that a user may not grant.
import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe, subset } from '../kinds/kind.ts';
import type { Unnumbered } from './request.ts';

/** Undefined where the kind has nothing of its own. */
export function special(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] | undefined {
  if (kind.kind === 'Pod') return [eviction(random, path)];
  if (kind.kind === 'ServiceAccount') return [token(random, path)];
  if (kind.kind === 'Role' || kind.kind === 'RoleBinding') return escalation(random);
  return undefined;
}

function eviction(random: SeededRandom, path: string): Unnumbered {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const body = {
    apiVersion: random.pick(['policy/v1', 'policy/v1', 'policy/v1', 'policy/v1beta1', 'v1']),
    kind: random.chance(0.95) ? 'Eviction' : 'Odd',
    metadata: { name: random.chance(0.9) ? name : 'other', namespace: '{ns}' },
    ...maybe(random, 0.4, () => ({
      deleteOptions: random.pick<object>([
        { gracePeriodSeconds: 0 },
        { preconditions: { uid: `@uid:${path}` } },
        { preconditions: { uid: 'x' } },
        { dryRun: ['All'] },
        { propagationPolicy: 'Background' },
        { gracePeriodSeconds: 'x' },
      ]),
    })),
  };
  const method = random.chance(0.93) ? 'POST' : random.pick(['GET', 'PUT', 'DELETE'] as const);
  if (method === 'GET' || method === 'DELETE') return { method, path: `${path}/eviction` };
  return { method, path: `${path}/eviction`, body, ...maybe(random, 0.2, () => ({ query: { dryRun: 'All' } })) };
}

function token(random: SeededRandom, path: string): Unnumbered {
  const spec = {
    ...maybe(random, 0.6, () => ({ audiences: random.pick<unknown>([['a'], ['a', 'b'], [], 5]) })),
    ...maybe(random, 0.5, () => ({ expirationSeconds: random.pick([600, 3600, 599, 0, -1, 2 ** 33]) })),
    ...maybe(random, 0.4, () => ({
      boundObjectRef: random.pick<object>([
        { kind: 'Pod', apiVersion: 'v1', name: 'none' },
        { kind: 'Secret', apiVersion: 'v1', name: 'none' },
        { kind: 'ConfigMap', apiVersion: 'v1', name: 'kube-root-ca.crt' },
        { kind: 'Pod', apiVersion: 'v1', name: '' },
      ]),
    })),
  };
  const body = {
    apiVersion: random.chance(0.95) ? 'authentication.k8s.io/v1' : 'v1',
    kind: random.chance(0.95) ? 'TokenRequest' : random.pick(['Odd', 'ServiceAccount', 'TokenReview']),
    ...maybe(random, 0.1, () => ({
      metadata: { name: random.pick(['other', path.slice(path.lastIndexOf('/') + 1)]) },
    })),
    spec,
  };
  return random.chance(0.93)
    ? { method: 'POST', path: `${path}/token`, body, ...maybe(random, 0.2, () => ({ query: { dryRun: 'All' } })) }
    : { method: 'GET', path: `${path}/token` };
}

const RBAC = 'rbac.authorization.k8s.io';
const GRANTED = [
  { apiGroups: [''], resources: ['configmaps', 'pods'], verbs: ['get', 'list'] },
  { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine'] },
];
const ASKED = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['get', 'delete'] },
  { apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'], verbs: ['get', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine', 'yours'] },
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
];

/** A user who may write roles grants his own rights, and more. Every request may be repeated: it is a dry run. */
function escalation(random: SeededRandom): Unnumbered[] {
  const base = `/apis/${RBAC}/v1/namespaces/{ns}`;
  const metadata = { name: 'maker' };
  const may = { apiGroups: [RBAC], resources: ['roles', 'rolebindings'], verbs: ['create', 'update', 'patch', 'get'] };
  const again = { as: 'carol', query: { dryRun: 'All' }, eventually: true };
  const asked = random.chance(0.6)
    ? {
        path: `${base}/roles`,
        body: {
          apiVersion: `${RBAC}/v1`,
          kind: 'Role',
          metadata: { name: 'given' },
          rules: [random.pick(ASKED), ...subset(random, ASKED)],
        },
      }
    : {
        path: `${base}/rolebindings`,
        body: {
          apiVersion: `${RBAC}/v1`,
          kind: 'RoleBinding',
          metadata: { name: 'given' },
          roleRef: random.pick<object>([
            { apiGroup: RBAC, kind: 'Role', name: 'maker' },
            { apiGroup: RBAC, kind: 'Role', name: 'none' },
            { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' },
          ]),
          subjects: [{ kind: 'User', apiGroup: RBAC, name: 'dave' }],
        },
      };
  return [
    {
      method: 'POST',
      path: `${base}/roles`,
      body: { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules: [may, ...GRANTED] },
    },
    {
      method: 'POST',
      path: `${base}/rolebindings`,
      body: {
        apiVersion: `${RBAC}/v1`,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: RBAC, kind: 'Role', name: 'maker' },
        subjects: [{ kind: 'User', apiGroup: RBAC, name: 'carol' }],
      },
    },
    { method: 'POST', ...asked, ...again },
  ];
}
