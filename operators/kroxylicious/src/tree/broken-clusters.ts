// Clusters of a proxy that are served with their last good configuration while what pods mount for it is broken or missing:
// pods that run are not touched by that, and pods that are started would not come up.
import { derivation } from '@capstan/reconcile';
import { VirtualKafkaCluster } from '../kinds/index.ts';
import { named, type Problem } from '../resolution/problem.ts';
import type { ClusterFragment } from './cluster-fragment.ts';
import type { ClusterNodes } from './cluster-node.ts';
import { keyOfAny, refOfKey } from './keys.ts';
import { clustersOfProxy } from './network-plan.ts';
import { goodOf } from './served-clusters.ts';

export interface BrokenCluster {
  readonly name: string;
  /** What is broken: `secret/server in namespace edge`. */
  readonly what: string;
}

export type BrokenClusters = ReturnType<typeof createBrokenClusters>;

/** By the key of the proxy. */
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
        const what = brokenMounts(good, node.problems, ref.namespace);
        return what === undefined ? [] : [{ name: ref.name, what }];
      });
    },
  });
}

/** What of the mounts of these configurations is known to be broken or missing. */
export function brokenMounts(
  good: readonly ClusterFragment[],
  problems: readonly Problem[],
  namespace: string,
): string | undefined {
  const mounted = new Set(good.flatMap(({ mounts }) => mounts.map(({ source, name }) => `${source} ${name}`)));
  const broken = problems
    .flatMap(({ sources = [] }) => sources)
    .filter(({ source, name }) => mounted.has(`${source} ${name}`))
    .map(({ source, name }) => named(source, { name, namespace }));
  return broken.length === 0 ? undefined : [...new Set(broken)].join(', ');
}

/** Why a rollout is held, and what to do. */
export function heldBecause(broken: readonly BrokenCluster[]): string {
  const causes = broken.map(
    ({ name, what }) => `the virtual cluster ${name}, whose ${what} is missing or cannot be used`,
  );
  return `the change waits for ${causes.join(', and ')}: pods that are started now would not come up; fix that, remove the cluster, or set spec.isolation of the KafkaProxy to VirtualCluster`;
}
