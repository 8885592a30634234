// What can be wrong with a resource, as its conditions tell it.
import { type ConditionInput, conditionType } from '@capstan/reconcile';

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
  /** The field that has the fault: `spec.tls.certificateRef`. */
  readonly path: string;
  /** What is wrong and what to do. */
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

/** The condition of one type; of several problems the first names the reason, and all are told. */
export function conditionAbout(about: Problem['about'], problems: readonly Problem[]): ConditionInput {
  const found = problems.filter((one) => one.about === about);
  const [first] = found;
  const type = about === 'ResolvedRefs' ? resolvedRefs : accepted;
  if (first === undefined) return type.isTrue(about as never);
  const messages = [...new Set(found.map(({ path, message }) => `${path}: ${message}`))];
  return type.isFalse(first.reason, messages.join('; '));
}

/** An object as messages name it: `secret/upstream-ca in namespace edge`. */
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
