// Which fragments a proxy serves: the present one of each of its clusters, or the last good one of a cluster that has a fault.
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
  /** In the order of their names. */
  readonly served: readonly ServedFragment[];
  /** Clusters that are not served as they ask. */
  readonly faulty: readonly FaultyCluster[];
  /** How many clusters name the proxy or are served by it. */
  readonly count: number;
}

export interface FaultyCluster {
  readonly name: string;
  readonly problems: readonly Problem[];
  /** Of the last good configuration, where there is one: it stays in force. */
  readonly lastGood: string | undefined;
  /** Something of it runs, and it is not known any more what: nothing may be rolled until it is fixed. */
  readonly isLost: boolean;
  /** What pods mount for it is in snapshots. */
  readonly hasSnapshots: boolean;
}

/** The configurations that a cluster had, newest first. */
export const goodOf = ({ status }: VirtualKafkaCluster): readonly ClusterFragment[] =>
  [status?.memory?.lastGood, status?.memory?.previousGood].flatMap((good) =>
    good === undefined ? [] : [good as unknown as ClusterFragment],
  );

/** `runs` is what the proxy's Deployment says that it runs; undefined without one. */
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
