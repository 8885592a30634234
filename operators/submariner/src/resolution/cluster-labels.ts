import type { ObjectMeta } from '@capstan/kube';
import { CLUSTER_ID_LABEL } from '../kinds/index.ts';
import { baseOf } from '../sync/content.ts';

/** The facts about a cluster that the resolution uses. */
export interface ClusterFacts {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The labels by which a cluster is selected: the user's, and its id. Labels of the sync are on copies only, so both ends
 * would see different ones: they do not count. A label that a member sets on its own Cluster counts once the broker has it,
 * there as everywhere.
 */
export function clusterFacts(cluster: {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly cluster_id: string };
}): ClusterFacts {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(baseOf(cluster.metadata)?.labels ?? cluster.metadata.labels ?? {}))
    if (!key.startsWith('submariner-io/') && !key.startsWith('capstan.dev/')) labels[key] = value;
  labels[CLUSTER_ID_LABEL] = cluster.spec.cluster_id;
  return { id: cluster.spec.cluster_id, labels };
}
