import { array, defineKind, type KindOf, object, string } from '@capstan/kube';
import { detailedConditions } from './http-proxy.ts';

export const TLSCertificateDelegation = defineKind({
  group: 'projectsesame.io',
  version: 'v1',
  kind: 'TLSCertificateDelegation',
  shortNames: ['tlscerts'],
  scope: 'Namespaced',
  description: 'Allows other namespaces to use Secrets of this one.',
  spec: object({
    delegations: array(
      object({
        secretName: string({ minLength: 1 }),
        targetNamespaces: array(string(), { description: '"*" alone stands for all.' }),
      }),
      { minItems: 1 },
    ),
  }),
  status: object({ conditions: detailedConditions() }),
});
export type TLSCertificateDelegation = KindOf<typeof TLSCertificateDelegation>;
