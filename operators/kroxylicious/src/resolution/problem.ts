// Problems of a resource and the conditions that report them.
import { type ConditionInput, conditionType, noCondition } from '@capstan/reconcile';

export type Reason =
  | 'ReferencedResourcesNotFound'
  | 'TransitivelyReferencedResourcesNotFound'
  | 'InterpolatedReferencedResourcesNotFound'
  | 'ReferencedGroupKindNotSupported'
  | 'InvalidReferencedResource'
  | 'ReferencedResourceNotReconciled'
  | 'RequestedResourceKindNotSupported'
  | 'Invalid';

export interface Problem {
  readonly about: 'ResolvedRefs' | 'Accepted';
  readonly reason: Reason;
  /** The field with the fault: `spec.tls.certificateRef`. */
  readonly path: string;
  /** The problem and its remedy. */
  readonly message: string;
}

/** A problem that does not keep the cluster from being served, but that the user should know. */
export interface Warning {
  readonly reason:
    | 'CertificateExpired'
    | 'CertificateNotYetValid'
    | 'TrustStoreEmpty'
    | 'TlsNameUnknown'
    | 'ClientAuthenticationOff'
    | 'RoutePending'
    | 'RouteNotAdmitted';
  readonly path: string;
  readonly message: string;
}

export function problem(
  reason: Reason,
  path: string,
  message: string,
  about: Problem['about'] = 'ResolvedRefs',
): Problem {
  return { about, reason, path, message };
}

const resolvedRefs = conditionType<Reason | 'ResolvedRefs'>('ResolvedRefs');
const accepted = conditionType<Reason | 'Accepted'>('Accepted');

const warning = conditionType<Warning['reason']>('Warning');

/** Returns the condition for warnings. It is absent if there are none. */
export function warningCondition(warnings: readonly Warning[]): ConditionInput {
  const [first] = warnings;
  if (first === undefined) return noCondition(warning.type);
  return warning.isTrue(first.reason, reported(warnings));
}

/** Returns the condition of one type. The first problem determines the reason, and the message contains all problems. */
export function conditionAbout(about: Problem['about'], problems: readonly Problem[]): ConditionInput {
  const found = problems.filter((one) => one.about === about);
  const [first] = found;
  const type = about === 'ResolvedRefs' ? resolvedRefs : accepted;
  if (first === undefined) return type.isTrue(about as never);
  return type.isFalse(first.reason, reported(found));
}

function reported(found: readonly { readonly path: string; readonly message: string }[]): string {
  return [...new Set(found.map(({ path, message }) => `${path}: ${message}`))].join('; ');
}

/** Returns the name of an object for messages: `secret/upstream-ca in namespace edge`. */
export function named(kind: string, { name, namespace }: { name: string; namespace: string }): string {
  return `${kind.toLowerCase()}/${name} in namespace ${namespace}`;
}

export function notFound(path: string, kind: string, ref: { name: string; namespace: string }): Problem {
  return problem(
    'ReferencedResourcesNotFound',
    path,
    `${named(kind, ref)} does not exist; create it or correct the name`,
  );
}
