import { formatMicroTime, Lease, type ObjectRef } from '@capstan/kube/cluster';

export interface LeaseTimes {
  /** How long others leave the lease alone after they saw it renewed. */
  leaseMs: number;
  /** How long a holder goes on without a renewal that succeeded. */
  renewMs: number;
  /** Between two tries. */
  retryMs: number;
}

/** The lease as its holder writes it: taken over from `previous`, whose resourceVersion guards the write. */
export function heldLease(
  ref: ObjectRef,
  previous: Lease | undefined,
  identity: string,
  leaseMs: number,
  now: number,
): Lease {
  const before = previous?.spec;
  const isRenewal = before?.holderIdentity === identity;
  const at = formatMicroTime(now);
  return leaseFrom(ref, previous, {
    ...before,
    holderIdentity: identity,
    // A whole number in the API; rounded up, because others must never wait for less than we count on.
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: isRenewal ? (before.acquireTime ?? at) : at,
    renewTime: at,
    leaseTransitions: (before?.leaseTransitions ?? 0) + (isRenewal || before === undefined ? 0 : 1),
  });
}

/** The lease as its holder gives it back: free for the one that comes next. */
export function releasedLease(ref: ObjectRef, previous: Lease, now: number): Lease {
  const at = formatMicroTime(now);
  return leaseFrom(ref, previous, {
    ...previous.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: at,
    renewTime: at,
  });
}

function leaseFrom(ref: ObjectRef, previous: Lease | undefined, spec: Lease['spec']): Lease {
  const { apiVersion, kind } = Lease;
  return { ...previous, apiVersion, kind, metadata: previous?.metadata ?? { ...ref }, spec };
}

/** The value that contenders compare: as long as it stays the same, the holder has not renewed. */
export function recordOf(lease: Lease): string {
  const { holderIdentity, renewTime, acquireTime, leaseTransitions, leaseDurationSeconds } = lease.spec ?? {};
  return JSON.stringify([holderIdentity, renewTime, acquireTime, leaseTransitions, leaseDurationSeconds]);
}

export function holderOf(lease: Lease | undefined): string | undefined {
  return lease?.spec?.holderIdentity || undefined;
}
