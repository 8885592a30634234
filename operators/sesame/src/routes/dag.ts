// Shows the served resources as a graph in Graphviz's language: listeners, hosts, routes, clusters and endpoints, with the objects that they come from.
import { decode, type Envoy, plainItems, type ResourceMessage, type ResourceType } from '../envoy/index.ts';
import type { Resource, ResourceStore, Shape } from '../xds/index.ts';

/** From left to right, as `dot -Tsvg` draws it. */
export function dagOf(store: ResourceStore): string {
  const lines = new Set<string>();
  const node = (id: string, label: string, shape = 'box') =>
    lines.add(`${quoted(id)} [shape=${shape}, label=${quoted(label)}]`);
  const edge = (from: string, to: string, label = '') =>
    lines.add(`${quoted(from)} -> ${quoted(to)}${label === '' ? '' : ` [label=${quoted(label)}]`}`);
  for (const listener of store.ofType('lds').values()) {
    const value = contentOf('lds', listener);
    node(listener.key, `listener ${listener.name}\n${addressText(value.address)}`, 'ellipse');
    for (const [route, host] of routeNames(value)) edge(listener.key, `rds/${route}`, host);
  }
  for (const routes of store.ofType('rds').values()) {
    node(routes.key, `routes ${routes.name}`, 'ellipse');
    for (const host of plainItems(contentOf('rds', routes).virtual_hosts)) {
      const id = `${routes.key}/${host.name ?? ''}`;
      node(id, `host ${(host.domains ?? []).join(', ')}`);
      edge(routes.key, id);
      for (const { route, match } of host.routes ?? [])
        for (const cluster of clustersOf(route ?? {})) edge(id, `cds/${cluster}`, matchText(match ?? {}));
    }
  }
  for (const cluster of store.ofType('cds').values()) {
    node(cluster.key, `cluster ${cluster.name}`);
    for (const endpoints of cluster.requires) edge(cluster.key, endpoints);
  }
  for (const endpoints of store.ofType('eds').values()) {
    const addresses = addressesOf(contentOf('eds', endpoints));
    const shown =
      addresses.length > MAX_SHOWN ? [...addresses.slice(0, MAX_SHOWN), `${addresses.length} in all`] : addresses;
    node(endpoints.key, [`endpoints ${endpoints.name}`, ...shown].join('\n'));
  }
  return `digraph DAG {\nrankdir="LR"\n${[...lines].join('\n')}\n}\n`;
}

const MAX_SHOWN = 8;

/** The message of a resource of this type, as clients get it. */
export function contentOf<Type extends ResourceType>(
  _type: Type,
  resource: Resource,
  shape: Shape = 'whole',
): ResourceMessage<Type> {
  return decode('google.protobuf.Any', resource.bytes('ads', shape)) as ResourceMessage<Type>;
}

/** `10.0.0.1:8080`, for each endpoint. */
export function addressesOf({ endpoints = [] }: Envoy.ClusterLoadAssignment): string[] {
  return endpoints.flatMap(({ lb_endpoints: each = [] }) => each.map(({ endpoint }) => addressText(endpoint?.address)));
}

function addressText(address: Envoy.Address | undefined): string {
  const { address: host = '', port_value: port } = address?.socket_address ?? {};
  return `${host}:${port ?? ''}`;
}

/** Names of route configurations, each with the host of its filter chain. */
function routeNames(listener: Envoy.Listener): [route: string, host: string][] {
  return plainItems(listener.filter_chains).flatMap(({ filters = [], filter_chain_match: match }) =>
    filters.flatMap((filter): [string, string][] => {
      const name = managerOf(filter)?.rds?.route_config_name ?? '';
      return name === '' ? [] : [[name, (match?.server_names ?? []).join(', ')]];
    }),
  );
}

/** The connection manager, where the filter is one. */
export function managerOf({ typed_config: config }: Envoy.NetworkFilter): Envoy.HttpConnectionManager | undefined {
  return config?.['@type'] === MANAGER ? config : undefined;
}

/** The target of connections, where the filter passes them on. */
export function tcpProxyOf({ typed_config: config }: Envoy.NetworkFilter): Envoy.TcpProxy | undefined {
  return config?.['@type'] === TCP_PROXY ? config : undefined;
}

const MANAGER = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const TCP_PROXY = 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy';

/** Where requests or connections go: what routes and TCP proxies have in common. */
export interface Target {
  readonly cluster?: string | undefined;
  readonly weighted_clusters?:
    | {
        readonly clusters?:
          | readonly { readonly name?: string | undefined; readonly weight?: number | undefined }[]
          | undefined;
      }
    | undefined;
}

/** Names of the clusters that a route sends to. */
export function clustersOf({ cluster, weighted_clusters: weighted }: Target): string[] {
  if (cluster) return [cluster];
  return (weighted?.clusters ?? []).map(({ name = '' }) => name);
}

/** Describes the match of a route in a few words. */
export function matchText(match: Envoy.RouteMatch): string {
  const path =
    match.path !== undefined
      ? `exact ${match.path}`
      : match.path_separated_prefix !== undefined
        ? `prefix ${match.path_separated_prefix}`
        : match.safe_regex !== undefined
          ? `regex ${match.safe_regex.regex ?? ''}`
          : `prefix ${match.prefix ?? ''}`;
  // A wildcard host limits it to one label.
  const headers = (match.headers ?? []).flatMap(({ name = '' }) => (name === ':authority' ? [] : `header ${name}`));
  const queries = (match.query_parameters ?? []).map(({ name = '' }) => `query ${name}`);
  return [path, ...headers, ...queries].join(', ');
}

function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
