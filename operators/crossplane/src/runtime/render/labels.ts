// The labels by which a package's pods are found.
import { childName } from '@capstan/kube';

export const REVISION_LABEL = 'pkg.crossplane.io/revision';
const PROVIDER_LABEL = 'pkg.crossplane.io/provider';
const FUNCTION_LABEL = 'pkg.crossplane.io/function';

/** Kinds of packages that have something to run. */
export type RuntimeKind = 'Provider' | 'Function';

export interface RevisionIdentity {
  readonly kind: RuntimeKind;
  /** The Provider's or Function's. */
  readonly packageName: string;
  /** The revision's own. */
  readonly name: string;
}

/** On every pod of a revision. */
export function podLabels(revision: RevisionIdentity): Record<string, string> {
  return { [REVISION_LABEL]: labelValue(revision.name), ...packageLabels(revision) };
}

/** The labels on the pods of all revisions of a package: they select pods where an object outlives a revision. */
export function packageLabels({ kind, packageName }: RevisionIdentity): Record<string, string> {
  return { [packageLabel(kind)]: labelValue(packageName) };
}

export function packageLabel(kind: RuntimeKind): string {
  return kind === 'Provider' ? PROVIDER_LABEL : FUNCTION_LABEL;
}

/** Names may be longer than the values of labels: those are cut and end in a hash. */
export function labelValue(name: string): string {
  return name.length <= 63 ? name : childName(name);
}
