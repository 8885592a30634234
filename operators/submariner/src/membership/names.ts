/** Holds a Submariner until its cluster has left the broker. */
export const LEAVE_FINALIZER = 'submariner.io/leave';

/** On a Submariner whose cluster leaves its broker to join another: its gateways neither publish nor take anything. */
export const LEAVING_ANNOTATION = 'submariner.io/leaving';

/** On a Submariner: the address of the recorded broker on which nothing of this cluster is left to remove, or is given up. */
export const LEFT_ANNOTATION = 'submariner.io/left-broker';

/** The account of a member on the broker. */
export function accountOf(clusterID: string): string {
  return `cluster-${clusterID}`;
}

/** The Lease on the broker that a member renews. */
export function heartbeatOf(clusterID: string): string {
  return `submariner-member-${clusterID}`;
}
