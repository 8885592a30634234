import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import { MERGE, type Unnumbered } from './request.ts';

/** As somebody who may do nothing, or what a binding of this sequence lets him. */
export function foreign(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered {
  const as = random.pick(['alice', 'bob', 'system:serviceaccount:{ns}:default']);
  return random.pick<Unnumbered>([
    { method: 'GET', path, as },
    { method: 'GET', path: kind.collection, as },
    { method: 'DELETE', path, as },
    { method: 'PATCH', path: `${path}/status`, contentType: MERGE, body: {}, as },
    {
      method: 'POST',
      path: kind.collection,
      body: { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'x' } },
      as,
    },
    {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      as,
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
