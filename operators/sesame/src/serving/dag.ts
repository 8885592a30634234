// What is served, as a graph in Graphviz's language: listeners, hosts, routes, clusters and endpoints, with the objects that they come from.
import { decode, type Message } from '../envoy/index.ts';
import type { Resource, ResourceStore, Shape } from '../xds/index.ts';

/** From left to right, as `dot -Tsvg` draws it. */
export function dagOf(store: ResourceStore): string {
  const lines = new Set<string>();
  const node = (id: string, label: string, shape = 'box') =>
    lines.add(`${quoted(id)} [shape=${shape}, label=${quoted(label)}]`);
  const edge = (from: string, to: string, label = '') =>
    lines.add(`${quoted(from)} -> ${quoted(to)}${label === '' ? '' : ` [label=${quoted(label)}]`}`);
  for (const listener of store.ofType('lds').values()) {
    const value = contentOf(listener);
    const socket = at(value, 'address', 'socket_address');
    node(
      listener.key,
      `listener ${listener.name}\n${text(socket['address'])}:${text(socket['port_value'])}`,
      'ellipse',
    );
    for (const [route, host] of routeNames(value)) edge(listener.key, `rds/${route}`, host);
  }
  for (const routes of store.ofType('rds').values()) {
    node(routes.key, `routes ${routes.name}`, 'ellipse');
    for (const host of list(contentOf(routes), 'virtual_hosts')) {
      const id = `${routes.key}/${text(host['name'])}`;
      node(id, `host ${texts(host, 'domains').join(', ')}`);
      edge(routes.key, id);
      for (const route of list(host, 'routes'))
        for (const cluster of clustersOf(at(route, 'route'))) edge(id, `cds/${cluster}`, matchText(at(route, 'match')));
    }
  }
  for (const cluster of store.ofType('cds').values()) {
    node(cluster.key, `cluster ${cluster.name}`);
    for (const endpoints of cluster.requires) edge(cluster.key, endpoints);
  }
  for (const endpoints of store.ofType('eds').values()) {
    const addresses = list(contentOf(endpoints), 'endpoints').flatMap((locality) =>
      list(locality, 'lb_endpoints').map((each) => {
        const socket = at(each, 'endpoint', 'address', 'socket_address');
        return `${text(socket['address'])}:${text(socket['port_value'])}`;
      }),
    );
    const shown =
      addresses.length > MAX_SHOWN ? [...addresses.slice(0, MAX_SHOWN), `${addresses.length} in all`] : addresses;
    node(endpoints.key, [`endpoints ${endpoints.name}`, ...shown].join('\n'));
  }
  return `digraph DAG {\nrankdir="LR"\n${[...lines].join('\n')}\n}\n`;
}

const MAX_SHOWN = 8;

export function contentOf(resource: Resource, shape: Shape = 'whole'): Message {
  return decode('google.protobuf.Any', resource.bytes('ads', shape));
}

/** The message below these fields; empty when one of them is not set. */
export function at(value: unknown, ...path: readonly string[]): Message {
  let found: unknown = value;
  for (const name of path) found = typeof found === 'object' && found !== null ? (found as Message)[name] : undefined;
  return typeof found === 'object' && found !== null ? (found as Message) : {};
}

export function list(value: Message, name: string): readonly Message[] {
  const found = value[name];
  return Array.isArray(found) ? (found as Message[]) : [];
}

function texts(value: Message, name: string): string[] {
  const found = value[name];
  return Array.isArray(found) ? found.map(text) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Names of route configurations, each with the host of its filter chain. */
function routeNames(listener: Message): [route: string, host: string][] {
  return list(listener, 'filter_chains').flatMap((chain) =>
    list(chain, 'filters').flatMap((filter): [string, string][] => {
      const name = text(at(filter, 'typed_config', 'rds')['route_config_name']);
      return name === '' ? [] : [[name, texts(at(chain, 'filter_chain_match'), 'server_names').join(', ')]];
    }),
  );
}

/** Names of the clusters that a route sends to. */
export function clustersOf(action: Message): string[] {
  const one = text(action['cluster']);
  if (one !== '') return [one];
  return list(at(action, 'weighted_clusters'), 'clusters').map((cluster) => text(cluster['name']));
}

/** What a route matches, in a few words. */
export function matchText(match: Message): string {
  const path =
    match['path'] !== undefined
      ? `exact ${text(match['path'])}`
      : match['path_separated_prefix'] !== undefined
        ? `prefix ${text(match['path_separated_prefix'])}`
        : match['safe_regex'] !== undefined
          ? `regex ${text(at(match, 'safe_regex')['regex'])}`
          : `prefix ${text(match['prefix'])}`;
  // A wildcard host limits it to one label.
  const headers = list(match, 'headers').flatMap(({ name }) => (name === ':authority' ? [] : `header ${text(name)}`));
  const queries = list(match, 'query_parameters').map(({ name }) => `query ${text(name)}`);
  return [path, ...headers, ...queries].join(', ');
}

function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
