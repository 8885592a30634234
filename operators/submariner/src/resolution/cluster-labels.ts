import type { ObjectMeta } from '@capstan/kube';
import { CLUSTER_ID_LABEL } from '../kinds/index.ts';

/** What the resolution knows of a cluster. */
export interface ClusterFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The labels by which a cluster is selected: the user's, and its id. Labels of the sync are on copies only, so both ends
 * would see different ones: they do not count.
 */
export function clusterFacts(cluster: {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly cluster_id: string };
}): ClusterFacts {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(cluster.metadata.labels ?? {}))
    if (!key.startsWith('submariner-io/') && !key.startsWith('capstan.dev/')) labels[key] = value;
  labels[CLUSTER_ID_LABEL] = cluster.spec.cluster_id;
  return { id: cluster.spec.cluster_id, labels };
}
