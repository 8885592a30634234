// Finds clusters of a proxy that are served with their last good configuration while files that pods mount for it are broken or missing.
// This does not affect running pods, but new pods would not start.
import { Deployment } from '@capstan/kube';
import { derivation, type Reader } from '@capstan/reconcile';
import { inForce, parseRunning } from '../hash/running-clusters.ts';
import { VirtualKafkaCluster } from '../kinds/index.ts';
import { named } from '../resolution/problem.ts';
import { rolloutOf } from '../resolution/rollout.ts';
import { brokenFiles } from './broken-files.ts';
import type { ClusterFragment } from './cluster-fragment.ts';
import type { ClusterNodes } from './cluster-node.ts';
import { keyIn, keyOfAny, type NamespacedRef, refOfKey } from './keys.ts';
import { clustersOfProxy } from './network-plan.ts';
import { goodOf } from './served-clusters.ts';
import { snapshotNames, storedSnapshotsOf } from './snapshots.ts';

export interface BrokenCluster {
  readonly name: string;
  /** The broken object: `secret/server in namespace edge`. */
  readonly what: string;
}

export type BrokenClusters = ReturnType<typeof createBrokenClusters>;

/** Creates the derivation of a proxy's broken clusters. Its key is the key of the proxy. */
export function createBrokenClusters(clusterNode: ClusterNodes) {
  return derivation<readonly BrokenCluster[]>({
    name: 'broken clusters of KafkaProxy',
    compute({ key: proxyKey, read }) {
      const { name: proxy } = refOfKey(proxyKey);
      return read.by(clustersOfProxy, proxyKey, keyOfAny).flatMap((key): BrokenCluster[] => {
        const node = read.derived(clusterNode, key);
        if (node === undefined || node.served !== undefined) return [];
        const ref = refOfKey(key);
        const good = (read.get(VirtualKafkaCluster, ref, goodOf) ?? []).filter((one) => one.proxy === proxy);
        const fragment = inForceOf(read, proxyKey, ref.name, good);
        if (fragment === undefined) return [];
        const broken = [...brokenMounts(read, ref, fragment), ...lostSnapshots(fragment, read, ref)];
        const what = broken.length === 0 ? undefined : broken.join(', ');
        return what === undefined ? [] : [{ name: ref.name, what }];
      });
    },
  });
}

/** Returns the configuration that runs. Read only while the cluster is broken. */
function inForceOf(
  read: Reader,
  proxyKey: string,
  name: string,
  good: readonly ClusterFragment[],
): ClusterFragment | undefined {
  const rollout = read.get(Deployment, refOfKey(proxyKey), rolloutOf);
  const found = inForce(good, name, rollout && parseRunning(rollout.clusters));
  return found === 'unknown' ? undefined : found;
}

/** Returns the snapshots that a configuration mounts and that are gone. They cannot be recreated while the content is broken. */
function lostSnapshots(fragment: ClusterFragment, read: Reader, { namespace, name }: NamespacedRef): string[] {
  const mounted = snapshotNames(fragment);
  if (mounted.length === 0) return [];
  const stored = read.get(VirtualKafkaCluster, { namespace, name }, storedSnapshotsOf) ?? [];
  return mounted.filter((one) => !stored.includes(one)).map((one) => named('Secret', { name: one, namespace }));
}

/** Returns the mounts of an earlier configuration that are missing or unusable and in no snapshot. */
export function brokenMounts(read: Reader, { namespace, name }: NamespacedRef, { hash }: ClusterFragment): string[] {
  return read.derived(goodMounts, keyIn({ namespace }, name)).find((good) => good.hash === hash)?.broken ?? [];
}

/**
 * The broken mounts of each earlier configuration, by the key of the cluster. The earlier configurations are checked, not the present
 * references: those may have changed, and pods still mount the earlier objects.
 */
const goodMounts = derivation<readonly { readonly hash: string; readonly broken: string[] }[]>({
  name: 'mounts of VirtualKafkaCluster',
  compute({ key, read }) {
    const { namespace, name } = refOfKey(key);
    return (read.get(VirtualKafkaCluster, { namespace, name }, goodOf) ?? []).map((good) => ({
      hash: good.hash,
      broken: brokenFiles(good, read, namespace),
    }));
  },
});

/** Returns the reason why a rollout is held, and the remedy. */
export function heldBecause(broken: readonly BrokenCluster[]): string {
  const causes = broken.map(
    ({ name, what }) => `the virtual cluster ${name}, whose ${what} is missing or cannot be used`,
  );
  return `the change waits for ${causes.join(', and ')}: pods that are started now would not come up; fix that, remove the cluster, or set spec.isolation of the KafkaProxy to VirtualCluster`;
}
