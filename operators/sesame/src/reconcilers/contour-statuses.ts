// Two controllers that write one status would overwrite each other for ever: while Contour's leader holds its Lease, the statuses of the
// objects that it serves are left to it.
import { Lease } from '@capstan/kube';
import { type Derived, derivation, type ReadDeclaration, type Reader, reading } from '@capstan/reconcile';
import type { ContourLease } from '../kinds/contour.ts';

export interface ContourStatuses {
  readonly reads: readonly ReadDeclaration[];
  /** Read with the empty key: whether Contour writes statuses now. */
  readonly areContours: Derived<boolean>;
}

export function contourStatuses({ namespace, name }: ContourLease): ContourStatuses {
  return {
    reads: [reading(Lease, 'everywhere', { names: [name] })],
    areContours: derivation<boolean>({
      name: 'contour-writes-statuses',
      compute({ read }) {
        // As long as it is not known who leads, statuses stay as they are.
        if (read.access(Lease) !== 'served') return true;
        const held = read.get(Lease, { namespace, name }, heldUntil);
        return held !== undefined && !read.reached(held);
      },
    }),
  };
}

/** Undefined when no one holds it. */
function heldUntil({ spec }: Lease): number | undefined {
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = spec ?? {};
  if (!holderIdentity || !renewTime) return undefined;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000;
}

/** Whether the object, one that Contour serves too, gets no status from us. */
export function isLeftToContour(read: Reader, contour: ContourStatuses | undefined): boolean {
  return contour !== undefined && read.derived(contour.areContours, '');
}
