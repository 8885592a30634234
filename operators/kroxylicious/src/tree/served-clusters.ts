// The fragments that a proxy serves: the present one of each cluster, or the last good one of a cluster with a fault.
import type { Reader } from '@capstan/reconcile';
import { inForce, parseRunning } from '../hash/running-clusters.ts';
import { VirtualKafkaCluster } from '../kinds/index.ts';
import type { Problem } from '../resolution/problem.ts';
import { type ClusterFragment, type ServedFragment, served } from './cluster-fragment.ts';
import type { ClusterNodes } from './cluster-node.ts';
import { keyOfAny, refOfKey } from './keys.ts';
import { clustersOfProxy } from './network-plan.ts';
import { snapshotNames } from './snapshots.ts';

export interface ServedClusters {
  /** Sorted by name. */
  readonly served: readonly ServedFragment[];
  /** Clusters that are not served with their present spec. */
  readonly faulty: readonly FaultyCluster[];
  /** The number of clusters that name the proxy or are served by it. */
  readonly count: number;
}

export interface FaultyCluster {
  readonly name: string;
  readonly problems: readonly Problem[];
  /** The hash of the last good configuration, which stays in force. Undefined if there is none. */
  readonly lastGood: string | undefined;
  /** Whether pods run a configuration of this cluster that is no longer known. Nothing may be rolled until the cluster is fixed. */
  readonly isLost: boolean;
  /** Whether snapshots hold the content that pods mount for it. */
  readonly hasSnapshots: boolean;
}

/** Returns the good configurations of a cluster, newest first. */
export const goodOf = ({ status }: VirtualKafkaCluster): readonly ClusterFragment[] =>
  [status?.memory?.lastGood, status?.memory?.previousGood].flatMap((good) =>
    good === undefined ? [] : [good as unknown as ClusterFragment],
  );

/**
 * Returns the fragments to serve. `runs` lists the configurations that the proxy's Deployment runs, and is undefined without a Deployment.
 */
export function servedClusters(
  read: Reader,
  clusterNode: ClusterNodes,
  proxyKey: string,
  runs: string | undefined,
): ServedClusters {
  const { name: proxy } = refOfKey(proxyKey);
  const all: ServedFragment[] = [];
  const faulty: FaultyCluster[] = [];
  let count = 0;
  let running: ReturnType<typeof parseRunning> | undefined;
  for (const key of read.by(clustersOfProxy, proxyKey, keyOfAny)) {
    const node = read.derived(clusterNode, key);
    if (node === undefined) continue;
    if (node.served !== undefined) {
      if (node.proxy !== proxy) continue;
      all.push(node.served);
      count++;
      continue;
    }
    const ref = refOfKey(key);
    const good = (read.get(VirtualKafkaCluster, ref, goodOf) ?? []).filter((one) => one.proxy === proxy);
    if (good.length === 0 && node.proxy !== proxy) continue;
    count++;
    running ??= runs === undefined ? undefined : parseRunning(runs);
    const found = good.length === 0 ? undefined : inForce(good, ref.name, running);
    const lastGood = found === 'unknown' ? undefined : found;
    if (lastGood !== undefined) all.push({ ...served(lastGood), isStale: true });
    faulty.push({
      name: ref.name,
      problems: node.problems,
      lastGood: lastGood?.hash,
      isLost: found === 'unknown',
      hasSnapshots: lastGood !== undefined && snapshotNames(lastGood).length > 0,
    });
  }
  return { served: all, faulty, count };
}
