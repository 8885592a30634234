// The part of a proxy's configuration that comes from one virtual cluster. The proxy's Deployment and the cluster's Services are built from
// it. It is small plain data, and the cluster's memory keeps it as its last good configuration.
import type { FilterDefinition, VirtualClusterConfig } from '../configuration/schema.ts';
import { itemLines } from '../configuration/yaml-text.ts';
import type { HashedChild } from '../hash/combine-hashes.ts';
import type { PortBlock } from '../ports/allocate-ports.ts';
import type { Mount } from '../resolution/mounts.ts';

export interface ClusterFragment {
  /** The KafkaProxy that serves the cluster. */
  readonly proxy: string;
  readonly config: VirtualClusterConfig;
  /** A digest of `config` alone, without the content of files. Names of ConfigMaps are derived from it. */
  readonly configId: string;
  readonly filterDefinitions: readonly FilterDefinition[];
  readonly mounts: readonly Mount[];
  readonly ways: readonly ClusterWay[];
  /** The ingresses of the cluster, which the proxy aggregates too. */
  readonly ingresses: readonly HashedChild[];
  /** The hash of all inputs of the configuration. */
  readonly hash: string;
}

/** A fragment and its text, which is built once for each fragment. */
export interface ServedFragment {
  readonly fragment: ClusterFragment;
  /** The item of `virtualClusters` in the file. */
  readonly text: string;
  /** Set if this is the last good fragment of a cluster that has a problem now. */
  readonly isStale?: true;
}

export function served(fragment: ClusterFragment): ServedFragment {
  return { fragment, text: itemLines(fragment.config, '  ').join('\n') };
}

/** The addresses of a cluster at one ingress. */
export interface ClusterWay {
  readonly ingress: string;
  readonly type: 'ClusterIP' | 'LoadBalancer' | 'Route';
  readonly protocol: 'TCP' | 'TLS';
  /** host:port for clients. Absent while a Route has no host. */
  readonly bootstrapServer?: string;
  readonly nodeIds: readonly number[];
  /** The ports, for a TCP ingress. */
  readonly ports?: PortBlock;
  /** The domains, for Routes whose hosts are known. */
  readonly domains?: RouteDomains;
}

/** The domains that OpenShift's routers append to the subdomains of Routes. */
export interface RouteDomains {
  readonly bootstrap: string;
  readonly nodes: string;
}

export const TLS_CLIENT_PORT = 9292;
export const LOAD_BALANCER_PORT = 9083;
/** OpenShift's routers accept TLS on this port. */
export const ROUTE_PORT = 443;

export function bootstrapServiceName(cluster: string, ingress: string): string {
  return `${cluster}-${ingress}-bootstrap`;
}

export function nodeServiceName(cluster: string, ingress: string, node: number | string): string {
  return `${cluster}-${ingress}-${node}`;
}

/** Returns the name of the Service that the Routes of a cluster lead to. */
export function routeServiceName(cluster: string, ingress: string): string {
  return `${cluster}-${ingress}-service`;
}

/** Returns the name of a Route, which is also its subdomain. */
export function routeName(cluster: string, suffix: number | string): string {
  return `${cluster}-${suffix}`;
}
