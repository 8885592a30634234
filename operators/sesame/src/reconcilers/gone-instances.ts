// A replica removes its Lease when it ends. One that crashed cannot: the leader removes the Lease some time after it has expired.
import { Lease } from '@capstan/kube';
import { plan, type Reconciler, reconciler, remove, writing } from '@capstan/reconcile';
import { INSTANCE_LABEL, INSTANCE_MANAGER, instanceOf } from '../configuration/instance-record.ts';

/** A replica that only lost its connection has come back by then. */
const KEPT_MS = 60_000;

/** Replicas create their Leases themselves. A Lease that only looks like one is left alone. */
const CREATED_BY = { label: INSTANCE_LABEL, managers: [INSTANCE_MANAGER] };

export const goneInstances: Reconciler = reconciler<Lease>({
  name: 'gone-instances',
  resource: Lease,
  writes: [writing(Lease, 'remove', { createdBy: CREATED_BY })],
  reconcile({ object: lease, read }) {
    const instance = instanceOf(lease);
    const isGone = instance !== undefined && read.reached(instance.expiresAt + KEPT_MS);
    return plan({
      held: false,
      prune: false,
      removals: isGone ? [remove(Lease, lease, { provenance: CREATED_BY })] : [],
    });
  },
});
