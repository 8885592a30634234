// The status of a TLSCertificateDelegation: whether the delegated Secret exists and is a certificate.
import { plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { isContours } from '../kinds/contour.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import type { RouteProblem } from '../result.ts';
import { ROUTE_READS, readLookup } from '../routing/lookup.ts';
import { type ContourStatuses, isLeftToContour } from './contour-statuses.ts';
import { validCondition } from './valid-condition.ts';

export interface DelegationStatusOptions {
  readonly contour?: ContourStatuses | undefined;
  readonly kind?: typeof TLSCertificateDelegation;
}

export function delegationStatus({
  contour,
  kind = TLSCertificateDelegation,
}: DelegationStatusOptions = {}): Reconciler {
  return reconciler({
    name: 'delegation-status',
    resource: kind,
    reads: [
      ...ROUTE_READS.filter((read) => !('kind' in read) || read.kind !== TLSCertificateDelegation),
      ...(contour?.reads ?? []),
    ],
    concurrency: 16,
    reconcile({ object, read }) {
      if (isContours(object) && isLeftToContour(read, contour)) return plan({});
      const { metadata, spec } = object;
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
