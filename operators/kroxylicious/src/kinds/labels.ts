// Labels of everything that is created for a proxy, and what selects its pods.

export const CHECKSUM_ANNOTATION = 'kroxylicious.io/referent-checksum';
export const BOOTSTRAP_ANNOTATION = 'kroxylicious.io/bootstrap-servers';
/** On Deployments: which configurations of which virtual clusters they run, as running-clusters.ts writes it. */
export const CLUSTERS_ANNOTATION = 'kroxylicious.io/virtual-clusters';
/** On Deployments: which pod template they have, so that a change of it is known before it is written. */
export const TEMPLATE_ANNOTATION = 'kroxylicious.io/pod-template';
/** On snapshots: what they are copies of. */
export const SNAPSHOT_ANNOTATION = 'kroxylicious.io/snapshot-of';
/** On Routes: what they lead to, `bootstrap` or `node`. */
export const ROUTE_FOR_LABEL = 'kroxylicious.io/route-for';
export const CLUSTER_LABEL = 'kroxylicious.io/virtual-cluster';
/** On everything that is created for a proxy. */
export const MANAGED_BY = { label: 'app.kubernetes.io/managed-by', value: 'kroxylicious-operator' };
/** What the upstream operator created for the same resource, with an owner reference but no controller, is adopted. */
export const FROM_UPSTREAM = { adopts: 'referring' } as const;
const INSTANCE_LABEL = 'app.kubernetes.io/instance';
const COMPONENT_LABEL = 'app.kubernetes.io/component';

/** Which Deployment: the one that a proxy's clusters share, or the one of a cluster alone. */
export interface Workload {
  readonly proxy: string;
  readonly cluster?: string;
}

/**
 * The labels of a workload, which are its selector too. The two sorts differ in their component, so that while a proxy is
 * being switched from one to the other, no Service finds the pods of both.
 */
export function workloadLabels({ proxy, cluster }: Workload): Record<string, string> {
  return {
    [MANAGED_BY.label]: MANAGED_BY.value,
    'app.kubernetes.io/name': 'kroxylicious',
    [COMPONENT_LABEL]: cluster === undefined ? 'proxy' : 'virtual-cluster',
    [INSTANCE_LABEL]: proxy,
    ...(cluster === undefined ? {} : { [CLUSTER_LABEL]: cluster }),
  };
}

/** As a selector for lists. */
export function workloadSelector(workload: Workload): string {
  return Object.entries(workloadLabels(workload))
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Selects everything that is created for a proxy. */
export function proxySelector(proxy: string): string {
  return `${MANAGED_BY.label}=${MANAGED_BY.value},${INSTANCE_LABEL}=${proxy}`;
}

/** Selects the workloads of all clusters of a proxy that have one of their own. */
export function isolatedSelector(proxy: string): string {
  return `${COMPONENT_LABEL}=virtual-cluster,${INSTANCE_LABEL}=${proxy}`;
}

export function workloadName({ proxy, cluster }: Workload): string {
  return cluster === undefined ? proxy : `${proxy}-${cluster}`;
}
