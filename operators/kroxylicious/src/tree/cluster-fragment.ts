// The part of a proxy's configuration that one virtual cluster brings: all that the proxy's Deployment and the cluster's
// Services are built from. Plain data, small, and kept in the cluster's memory as its last good configuration.
import type { FilterDefinition, VirtualClusterConfig } from '../configuration/schema.ts';
import { itemLines } from '../configuration/yaml-text.ts';
import type { HashedChild } from '../hash/combine-hashes.ts';
import type { PortBlock } from '../ports/allocate-ports.ts';
import type { Mount } from '../resolution/mounts.ts';

export interface ClusterFragment {
  /** The KafkaProxy that serves it. */
  readonly proxy: string;
  readonly config: VirtualClusterConfig;
  /** Of `config` alone, without the content of files: what names of ConfigMaps are built from. */
  readonly configId: string;
  readonly filterDefinitions: readonly FilterDefinition[];
  readonly mounts: readonly Mount[];
  readonly ways: readonly ClusterWay[];
  /** The ingresses that it uses: the proxy aggregates them too. */
  readonly ingresses: readonly HashedChild[];
  /** Of all that the configuration was built from. */
  readonly hash: string;
}

/** A fragment and its text, which is created once for as long as the fragment stays the same. */
export interface ServedFragment {
  readonly fragment: ClusterFragment;
  /** Its item of `virtualClusters` in the file. */
  readonly text: string;
  /** The last good one of a cluster that has a problem now. */
  readonly isStale?: true;
}

export function served(fragment: ClusterFragment): ServedFragment {
  return { fragment, text: itemLines(fragment.config, '  ').join('\n') };
}

/** How clients get in by one ingress. */
export interface ClusterWay {
  readonly ingress: string;
  readonly type: 'ClusterIP' | 'LoadBalancer' | 'Route';
  readonly protocol: 'TCP' | 'TLS';
  /** host:port for clients; absent while a Route has no host. */
  readonly bootstrapServer?: string;
  readonly nodeIds: readonly number[];
  /** For TCP. */
  readonly ports?: PortBlock;
  /** For Routes whose hosts are known. */
  readonly domains?: RouteDomains;
}

/** What the routers of OpenShift put after the subdomains of Routes. */
export interface RouteDomains {
  readonly bootstrap: string;
  readonly nodes: string;
}

export const TLS_CLIENT_PORT = 9292;
export const LOAD_BALANCER_PORT = 9083;
/** Routers of OpenShift take TLS on this port. */
export const ROUTE_PORT = 443;

export function bootstrapServiceName(cluster: string, ingress: string): string {
  return `${cluster}-${ingress}-bootstrap`;
}

export function nodeServiceName(cluster: string, ingress: string, node: number | string): string {
  return `${cluster}-${ingress}-${node}`;
}

/** The Service that the Routes of a cluster lead to. */
export function routeServiceName(cluster: string, ingress: string): string {
  return `${cluster}-${ingress}-service`;
}

/** A Route's name, which is its subdomain too. */
export function routeName(cluster: string, suffix: number | string): string {
  return `${cluster}-${suffix}`;
}
