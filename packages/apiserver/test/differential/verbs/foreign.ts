import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import { MERGE, type Unnumbered } from './request.ts';

/**
 * Requests of a user without rights, or with the rights of a binding of this sequence. The real server knows a new binding after a moment,
 * so every request here may be repeated.
 */
export function foreign(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered {
  const as = random.pick(['alice', 'bob', 'system:serviceaccount:{ns}:default']);
  if (random.chance(0.3)) return review(random);
  return random.pick<Unnumbered>([
    { method: 'GET', path, as, eventually: true },
    { method: 'GET', path: kind.collection, as, eventually: true },
    { method: 'DELETE', path, as, query: { dryRun: 'All' }, eventually: true },
    {
      method: 'PATCH',
      path: `${path}/status`,
      contentType: MERGE,
      body: {},
      as,
      query: { dryRun: 'All' },
      eventually: true,
    },
    {
      method: 'POST',
      path: kind.collection,
      body: { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'x' } },
      query: { dryRun: 'All' },
      eventually: true,
      as,
    },
    {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      as,
      eventually: true,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: {
          resourceAttributes: { namespace: '{ns}', verb: random.pick(['get', 'list', 'create']), resource: 'pods' },
        },
      },
    },
  ]);
}

/** A question by the administrator, often a wrong one. */
function review(random: SeededRandom): Unnumbered {
  const kind = random.pick([
    'SelfSubjectAccessReview',
    'SubjectAccessReview',
    'LocalSubjectAccessReview',
    'TokenReview',
  ]);
  const group = kind === 'TokenReview' ? 'authentication.k8s.io' : 'authorization.k8s.io';
  const place = kind === 'LocalSubjectAccessReview' ? 'namespaces/{ns}/' : '';
  const spec = {
    ...(random.chance(0.7) && {
      resourceAttributes: random.pick<object>([
        { verb: 'get', resource: 'pods', namespace: '{ns}' },
        { verb: 'list', resource: 'secrets', group: 'apps', namespace: 'default' },
        { verb: 3 },
        { verb: 'get', other: true },
      ]),
    }),
    ...(random.chance(0.3) && { nonResourceAttributes: { path: '/healthz', verb: 'get' } }),
    ...(random.chance(0.7) && { user: random.pick<unknown>(['alice', '', 5]) }),
    ...(random.chance(0.3) && { groups: random.pick<unknown>([['system:authenticated'], [], 'a']) }),
    ...(kind === 'TokenReview' && { token: random.pick<unknown>(['', 'nothing', 7]) }),
  };
  return {
    method: 'POST',
    path: `/apis/${group}/v1/${place}${kind.toLowerCase()}s`,
    body: {
      apiVersion: `${group}/v1`,
      kind: random.chance(0.95) ? kind : 'Pod',
      ...(random.chance(0.2) && { metadata: { name: 'x' } }),
      spec,
    },
    query: { fieldValidation: random.pick(['Strict', 'Warn', 'Ignore']) },
    eventually: true,
  };
}
