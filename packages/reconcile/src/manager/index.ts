export { CLUSTER_ROLE_LABEL, followClusterSecrets } from './cluster-secrets.ts';
export { type CompactHeapOptions, compactHeap } from './compact-heap.ts';
export * from './ensure-crds.ts';
export * from './manager.ts';
export type { LeaseSettings } from './operator-leases.ts';
export { ensureNamespace } from './system-namespace.ts';
