// The status of a TLSCertificateDelegation: whether what it delegates is there and is a certificate.
import { plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import type { RouteProblem } from '../routing/problems.ts';
import { ROUTE_READS, readLookup } from '../routing/tracked-lookup.ts';
import { validCondition } from './valid-condition.ts';

export function delegationStatus(): Reconciler {
  return reconciler({
    name: 'delegation-status',
    resource: TLSCertificateDelegation,
    reads: ROUTE_READS.filter((read) => !('kind' in read) || read.kind !== TLSCertificateDelegation),
    concurrency: 16,
    reconcile({ object: { metadata, spec }, read }) {
      const lookup = readLookup(read);
      const namespace = metadata.namespace ?? '';
      const errors = spec.delegations.flatMap(({ secretName, targetNamespaces }, index): RouteProblem[] => {
        const at = `spec.delegations[${index}]`;
        const problem = (reason: string, message: string): RouteProblem => ({ type: 'TLSError', reason, message });
        const secret = lookup.secret(namespace, secretName);
        return [
          ...(secret === undefined
            ? [
                problem(
                  'SecretNotValid',
                  `${at}.secretName: Secret ${namespace}/${secretName} does not exist; create it or correct the name`,
                ),
              ]
            : []),
          ...(targetNamespaces.length === 0
            ? [problem('NoTargets', `${at}.targetNamespaces: it is empty; name namespaces, or "*" for all`)]
            : []),
          ...(targetNamespaces.length > 1 && targetNamespaces.includes('*')
            ? [
                problem(
                  'AmbiguousTargets',
                  `${at}.targetNamespaces: "*" stands beside other names and has no effect there; leave it alone, or remove it`,
                ),
              ]
            : []),
        ];
      });
      return plan({ conditions: [validCondition('TLSCertificateDelegation', { errors, warnings: [] })] });
    },
  });
}
