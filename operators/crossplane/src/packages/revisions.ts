// The revisions of a package, as its reconcilers read them. There are two views, because health changes far more often than the identity of
// a revision: a reader of the identity is not woken by a change of health.
import { findCondition } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { DIGEST_ANNOTATION, PACKAGE_LABEL } from '../kinds/index.ts';
import { labelValue } from '../runtime/index.ts';
import type { PackageKind, PackageObject, RevisionObject } from './package-kind.ts';

export interface RevisionView {
  readonly name: string;
  readonly uid: string;
  readonly digest: string | undefined;
  readonly spec: RevisionObject['spec'];
  /** The package's uid, for revisions that have one as their controller. */
  readonly owner: string | undefined;
  readonly isBeingDeleted: boolean;
}

/** All revisions that this package controls, the oldest first. */
export function revisionsOf(read: Reader, kind: PackageKind, object: PackageObject): readonly RevisionView[] {
  const labels = `${PACKAGE_LABEL}=${labelValue(object.metadata.name ?? '')}`;
  return read
    .list(kind.revision, { labels }, revisionView)
    .filter(({ owner, isBeingDeleted }) => owner === object.metadata.uid && !isBeingDeleted)
    .toSorted((left, right) => left.spec.revision - right.spec.revision);
}

/** The one that is active; of several, which nothing wants for long, the newest. */
export function activeRevision(revisions: readonly RevisionView[]): RevisionView | undefined {
  return revisions.findLast(({ spec }) => spec.desiredState === 'Active');
}

export const revisionView = ({ metadata, spec }: RevisionObject): RevisionView => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  digest: metadata.annotations?.[DIGEST_ANNOTATION],
  spec,
  owner: metadata.ownerReferences?.find(({ controller }) => controller)?.uid,
  isBeingDeleted: metadata.deletionTimestamp !== undefined,
});

export interface ConditionView {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** A condition of a revision that was computed from its present spec. */
export function conditionOf({ metadata, status }: RevisionObject, type: string): ConditionView | undefined {
  const found = findCondition(status?.conditions, type);
  if (found === undefined || (found.observedGeneration ?? 0) < (metadata.generation ?? 0)) return undefined;
  return { status: found.status, reason: found.reason, message: found.message };
}

export const unpackedOf = (revision: RevisionObject) => conditionOf(revision, 'Unpacked');
export const healthOf = (revision: RevisionObject) => conditionOf(revision, 'Healthy');
export const revisionHealthOf = (revision: RevisionObject) => conditionOf(revision, 'RevisionHealthy');
/** An external controller may leave out the generation: then its condition counts. */
export const runtimeHealthOf = ({ status }: RevisionObject) => {
  const found = findCondition(status?.conditions, 'RuntimeHealthy');
  return found && { status: found.status, reason: found.reason, message: found.message };
};
