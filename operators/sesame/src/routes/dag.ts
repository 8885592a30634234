// Shows the route map as a graph in Graphviz's language: listeners, hosts, routes, clusters and endpoints, with the objects that they come from.
import type { MappedCluster, MappedRoute, RouteMap } from '../model/route-map.ts';

/** From left to right, as `dot -Tsvg` draws it. */
export function dagOf({ listeners }: RouteMap): string {
  const lines = new Set<string>();
  const node = (id: string, label: string, shape = 'box') =>
    lines.add(`${quoted(id)} [shape=${shape}, label=${quoted(label)}]`);
  const edge = (from: string, to: string, label = '') =>
    lines.add(`${quoted(from)} -> ${quoted(to)}${label === '' ? '' : ` [label=${quoted(label)}]`}`);
  for (const { name, address, hosts } of listeners) {
    const listener = `listener/${name}`;
    node(listener, `listener ${name}\n${address}`, 'ellipse');
    for (const { host, origins, routes } of hosts) {
      const id = `host/${name}/${host}`;
      node(id, [`host ${host}`, ...origins.map((each) => `${each.kind} ${each.namespace}/${each.name}`)].join('\n'));
      edge(listener, id);
      for (const route of routes) {
        for (const cluster of route.clusters) {
          edge(id, `cluster/${cluster.name}`, labelOf(route, cluster));
          node(`cluster/${cluster.name}`, `cluster ${cluster.name}`);
          edge(`cluster/${cluster.name}`, `endpoints/${cluster.name}`);
          node(`endpoints/${cluster.name}`, ['endpoints', ...endpointLines(cluster)].join('\n'));
        }
        if (route.answer === undefined) continue;
        edge(id, `answer/${route.answer}`, route.text);
        node(`answer/${route.answer}`, route.answer);
      }
    }
  }
  return `digraph DAG {\nrankdir="LR"\n${[...lines].join('\n')}\n}\n`;
}

const MAX_SHOWN = 8;

function endpointLines({ endpoints }: MappedCluster): string[] {
  if (endpoints.length === 0) return ['none is ready'];
  return endpoints.length > MAX_SHOWN
    ? [...endpoints.slice(0, MAX_SHOWN), `${endpoints.length} in all`]
    : [...endpoints];
}

function labelOf({ text }: MappedRoute, { isMirror, share }: MappedCluster): string {
  return isMirror ? `${text}, mirror` : share === 100 ? text : `${text}, ${share} %`;
}

function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
