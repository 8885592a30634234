// Which fragments a proxy serves: the present one of each of its clusters, or the last good one of a cluster that has a fault.
import type { Reader } from '@capstan/reconcile';
import { VirtualKafkaCluster } from '../kinds/index.ts';
import type { Problem } from '../resolution/problem.ts';
import { type ClusterFragment, type ServedFragment, served } from './cluster-fragment.ts';
import type { ClusterNodes } from './cluster-node.ts';
import { keyOfAny, refOfKey } from './keys.ts';
import { clustersOfProxy } from './network-plan.ts';

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
}

export const lastGoodOf = ({ status }: VirtualKafkaCluster) =>
  status?.memory?.lastGood as unknown as ClusterFragment | undefined;

export function servedClusters(read: Reader, clusterNode: ClusterNodes, proxyKey: string): ServedClusters {
  const { name: proxy } = refOfKey(proxyKey);
  const all: ServedFragment[] = [];
  const faulty: FaultyCluster[] = [];
  let count = 0;
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
    const known = read.get(VirtualKafkaCluster, ref, lastGoodOf);
    const lastGood = known?.proxy === proxy ? known : undefined;
    if (lastGood === undefined && node.proxy !== proxy) continue;
    count++;
    if (lastGood !== undefined) all.push(served(lastGood));
    faulty.push({ name: ref.name, problems: node.problems, lastGood: lastGood?.hash });
  }
  return { served: all, faulty, count };
}
