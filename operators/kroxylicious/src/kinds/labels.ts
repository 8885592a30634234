// Labels of all objects that are created for a proxy, and the selectors of its pods.

export const CHECKSUM_ANNOTATION = 'kroxylicious.io/referent-checksum';
export const BOOTSTRAP_ANNOTATION = 'kroxylicious.io/bootstrap-servers';
/** On Deployments: the configurations of virtual clusters that they run, in the format of running-clusters.ts. */
export const CLUSTERS_ANNOTATION = 'kroxylicious.io/virtual-clusters';
/** On Deployments: the id of their pod template, so that a change of it is known before it is written. */
export const TEMPLATE_ANNOTATION = 'kroxylicious.io/pod-template';
/** On snapshots: the object that they copy. */
export const SNAPSHOT_ANNOTATION = 'kroxylicious.io/snapshot-of';
/** On Routes: their target, `bootstrap` or `node`. */
export const ROUTE_FOR_LABEL = 'kroxylicious.io/route-for';
export const CLUSTER_LABEL = 'kroxylicious.io/virtual-cluster';
/** On all objects that are created for a proxy. */
export const MANAGED_BY = { label: 'app.kubernetes.io/managed-by', value: 'kroxylicious-operator' };
/** Adopts objects that the upstream operator created for the same resource, with an owner reference but without a controller. */
export const FROM_UPSTREAM = { adopts: 'referring' } as const;
export const INSTANCE_LABEL = 'app.kubernetes.io/instance';
const COMPONENT_LABEL = 'app.kubernetes.io/component';

/** Identifies a Deployment: the shared one of a proxy, or the own one of a cluster. */
export interface Workload {
  readonly proxy: string;
  readonly cluster?: string;
}

/**
 * Returns the labels of a workload, which are also its selector. Shared and own workloads have different components, so that no Service
 * selects the pods of both while a proxy switches from one to the other.
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

/** Returns the same labels as a selector for lists. */
export function workloadSelector(workload: Workload): string {
  return Object.entries(workloadLabels(workload))
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Selects all objects that are created for a proxy. */
export function proxySelector(proxy: string): string {
  return `${MANAGED_BY.label}=${MANAGED_BY.value},${INSTANCE_LABEL}=${proxy}`;
}

/** Selects the own workloads of all clusters of a proxy. */
export function isolatedSelector(proxy: string): string {
  return `${COMPONENT_LABEL}=virtual-cluster,${INSTANCE_LABEL}=${proxy}`;
}

export function workloadName({ proxy, cluster }: Workload): string {
  return cluster === undefined ? proxy : `${proxy}-${cluster}`;
}
