import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import { MERGE, type Unnumbered } from './request.ts';

/**
 * As a user who may do nothing, or what a binding of this sequence lets him. The real server hears of a new binding after a moment, so everything here
 * may be asked again.
 */
export function foreign(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered {
  const as = random.pick(['alice', 'bob', 'system:serviceaccount:{ns}:default']);
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
