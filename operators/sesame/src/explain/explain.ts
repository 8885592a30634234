// Why a request to a host and path is answered as it is: from what is served for the host, back to the objects that it was computed
// from and on to the endpoints. It is the same computation that serves Envoys.
import { type Derived, derivation, type Reader } from '@capstan/reconcile';
import { Fragment, type Message } from '../envoy/index.ts';
import { HTTPS_LISTENER } from '../routing/listener/filter-chain.ts';
import { HTTP_LISTENER, httpListener } from '../routing/listener/listeners.ts';
import { globalAuthorization } from '../routing/policy/authorization.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { readLookup } from '../routing/tracked-lookup.ts';
import { at, clustersOf, contentOf, list, matchText, text } from '../serving/dag.ts';
import { hostKey, ingressesByHost, type RouteGraph, rootsByFqdn } from '../serving/pieces.ts';
import type { Resource } from '../xds/index.ts';
import { type ExplainedGateways, type GatewayAnswer, gatewayAnswers, gatewayProblems } from './explain-gateways.ts';

export interface Explanation {
  readonly host: string;
  readonly path: string;
  /** The host as it is configured, `*.shop.test` for `a.shop.test`; undefined when nothing serves it. */
  readonly servedAs: string | undefined;
  readonly listeners: readonly ExplainedListener[];
  /** What is wrong with the objects of the host. */
  readonly problems: readonly string[];
}

export interface ExplainedListener {
  readonly name: string;
  readonly address: string;
  /** Filters that a request passes, in order. */
  readonly filters: readonly string[];
  /** Routes whose path fits, in the order in which Envoy looks: the first whose conditions hold is taken. */
  readonly routes: readonly ExplainedRoute[];
}

export interface ExplainedRoute {
  readonly match: string;
  /** `HTTPProxy default/shop`. */
  readonly from: string | undefined;
  /** What it does when it sends to no Service. */
  readonly answer: string | undefined;
  readonly services: readonly ExplainedService[];
  /** Whether every request for the path takes it that reaches it. */
  readonly isUnconditional: boolean;
}

export interface ExplainedService {
  readonly cluster: string;
  readonly service: string;
  /** In percent. */
  readonly share: number;
  readonly endpoints: readonly string[];
}

/** Keys are `host/path`, with a path of `/` at least. */
export function explanations(graph: RouteGraph, gateways?: ExplainedGateways): Derived<Explanation> {
  return derivation<Explanation>({
    name: 'explanation',
    compute({ key, read }) {
      const slash = key.indexOf('/');
      const [host, path] = [key.slice(0, slash).toLowerCase(), key.slice(slash)];
      const settings = read.derived(graph.settings, '');
      const ofGateways = gateways ? gatewayAnswers(read, gateways, host) : [];
      const gatewayListeners = ofGateways.map((answer) => explainGateway(answer, path, host, read, graph));
      const gatewayNotes = gateways ? gatewayProblems(read, gateways, host) : [];
      const servedAs = candidates(host).find((name) => isServed(read, graph, name));
      if (servedAs === undefined)
        return {
          host,
          path,
          servedAs: ofGateways[0]?.servedAs,
          listeners: gatewayListeners,
          problems: [...problemsOf(read, graph, host), ...gatewayNotes],
        };
      const piece = read.derived(graph.pieces, hostKey(servedAs));
      const clusters = new Map(piece.resources.filter(({ type }) => type === 'cds').map((each) => [each.name, each]));
      const routesOf = (virtualHost: Message) =>
        explainRoutes(list(virtualHost, 'routes'), path, clusters, read, graph);
      const listeners: ExplainedListener[] = [];
      if (piece.plain) {
        const { http } = settings.envoy;
        listeners.push({
          name: HTTP_LISTENER,
          address: `${http.address}:${http.port}`,
          filters: filtersOf(
            list(
              contentOf(httpListener(settings, globalAuthorization(settings, readLookup(read)))),
              'filter_chains',
            )[0] ?? {},
          ),
          routes: routesOf(piece.plain.fragment.value),
        });
      }
      if (piece.chain) {
        const { https } = settings.envoy;
        const chain = piece.chain.fragment.value;
        const routes = piece.resources.find(({ type, name }) => type === 'rds' && name === `https/${servedAs}`);
        listeners.push({
          name: HTTPS_LISTENER,
          address: `${https.address}:${https.port}`,
          filters: filtersOf(chain),
          routes: routes
            ? routesOf(list(contentOf(routes), 'virtual_hosts')[0] ?? {})
            : tcpRoutes(chain, clusters, read, graph),
        });
      }
      return {
        host,
        path,
        servedAs,
        listeners: [...listeners, ...gatewayListeners],
        problems: [...problemsOf(read, graph, servedAs), ...gatewayNotes],
      };
    },
  });
}

function explainGateway(
  { gateway, listener, address, servedAs, chain, routes, stream, clusters }: GatewayAnswer,
  path: string,
  host: string,
  read: Reader,
  graph: RouteGraph,
): ExplainedListener {
  return {
    name: `${listener} of Gateway ${gateway}${servedAs === host ? '' : `, served as ${servedAs}`}`,
    address,
    filters: filtersOf(chain),
    routes: stream
      ? [
          {
            match: 'every connection',
            from: stream.from,
            answer: undefined,
            services: explainServices(stream.action, clusters, read, graph),
            isUnconditional: true,
          },
        ]
      : explainRoutes(routes, path, clusters, read, graph),
  };
}

function explainRoutes(
  routes: readonly Message[],
  path: string,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute[] {
  return routes
    .filter((route) => fits(at(route, 'match'), path))
    .map((route) => explainRoute(route, clusters, read, graph));
}

/** The host itself, then the wildcards that cover it. */
function candidates(host: string): string[] {
  const parent = host.includes('.') ? `*${host.slice(host.indexOf('.'))}` : undefined;
  return [host, ...(parent ? [parent] : []), '*'];
}

function isServed(read: Reader, graph: RouteGraph, name: string): boolean {
  const { plain, chain } = read.derived(graph.pieces, hostKey(name));
  return plain !== undefined || chain !== undefined;
}

function problemsOf(read: Reader, graph: RouteGraph, host: string): string[] {
  const key = hostKey(host);
  const ofRoots = read
    .by(rootsByFqdn, key, keyOf)
    .flatMap((root) =>
      read
        .derived(graph.roots, root)
        .findings.flatMap(([object, { errors, warnings }]) =>
          [...errors, ...warnings].map(({ reason, message }) => `HTTPProxy ${object}: ${reason}: ${message}`),
        ),
    );
  const ofIngresses = read
    .by(ingressesByHost, key, keyOf)
    .flatMap((ingress) => read.derived(graph.ingresses, ingress).problems.map((note) => `Ingress ${ingress}: ${note}`));
  return [...new Set([...ofRoots, ...ofIngresses])];
}

const keyOf = ({ metadata }: { metadata: { namespace?: string | undefined; name?: string | undefined } }) =>
  `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

function filtersOf(chain: Message): string[] {
  return list(chain, 'filters').flatMap((filter) => {
    const parts: readonly (Message | Fragment)[] = list(at(filter, 'typed_config'), 'http_filters');
    const http = parts.map((part) => String((part instanceof Fragment ? part.value : part)['name']));
    return http.length > 0 ? http : [String(filter['name'])];
  });
}

function explainRoute(
  route: Message,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute {
  const match = at(route, 'match');
  const origin = at(route, 'metadata', 'filter_metadata', 'envoy.access_loggers.file');
  const kind = origin['io.projectsesame.kind'];
  return {
    match: matchText(match),
    from:
      typeof kind === 'string'
        ? `${kind} ${String(origin['io.projectsesame.namespace'])}/${String(origin['io.projectsesame.name'])}`
        : undefined,
    answer: answerOf(route),
    services: explainServices(at(route, 'route'), clusters, read, graph),
    isUnconditional:
      list(match, 'headers').every(({ name }) => name === ':authority') && list(match, 'query_parameters').length === 0,
  };
}

function tcpRoutes(
  chain: Message,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute[] {
  return list(chain, 'filters').map((filter) => ({
    match: 'every connection',
    from: undefined,
    answer: undefined,
    services: explainServices(at(filter, 'typed_config'), clusters, read, graph),
    isUnconditional: true,
  }));
}

function answerOf(route: Message): string | undefined {
  const { status } = at(route, 'direct_response');
  if (typeof status === 'number') return `answers ${status}`;
  if (route['redirect'] === undefined) return undefined;
  const { https_redirect: isSecure, host_redirect: host, path_redirect: path } = at(route, 'redirect');
  const target = [isSecure === true ? 'https' : '', host, path].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  return `redirects to ${target.join(' ')}`;
}

function explainServices(
  action: Message,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedService[] {
  const weights = new Map(
    list(at(action, 'weighted_clusters'), 'clusters').map(({ name, weight }) => [String(name), Number(weight ?? 0)]),
  );
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return clustersOf(action).map((name) => {
    const value = clusters.get(name);
    const cluster = value ? contentOf(value) : {};
    const assignment = at(cluster, 'eds_cluster_config')['service_name'];
    const [namespace = '', service = ''] = typeof assignment === 'string' ? assignment.split('/') : name.split('/');
    const port = text(cluster['alt_stat_name']).split('_').at(-1) ?? '';
    return {
      cluster: name,
      service: `${namespace}/${service} port ${port}`,
      share: total === 0 ? 100 : Math.round(((weights.get(name) ?? 0) / total) * 1000) / 10,
      endpoints: endpointsOf(read, graph, `${namespace}/${service}`, text(assignment)),
    };
  });
}

function endpointsOf(read: Reader, graph: RouteGraph, service: string, assignment: string): string[] {
  const found = read.derived(graph.pieces, service).endpoints.find(({ name }) => name === assignment);
  if (!found) return [];
  return list(contentOf(found), 'endpoints').flatMap((locality) =>
    list(locality, 'lb_endpoints').map((each) => {
      const { address, port_value: port } = at(each, 'endpoint', 'address', 'socket_address');
      return `${String(address)}:${String(port)}`;
    }),
  );
}

/** Whether a path is one that the match takes. */
export function fits(match: Message, path: string): boolean {
  const { path: exact, path_separated_prefix: segments, prefix } = match;
  if (typeof exact === 'string') return path === exact;
  if (typeof segments === 'string') return path === segments || path.startsWith(`${segments}/`);
  const { regex } = at(match, 'safe_regex');
  if (typeof regex !== 'string') return path.startsWith(typeof prefix === 'string' ? prefix : '/');
  try {
    return new RegExp(`^(?:${regex})$`).test(path);
  } catch {
    // Legal for Envoy and not here: it may fit.
    return true;
  }
}

export function settingsOnly(settings: RoutingSettings): Derived<RoutingSettings> {
  return derivation<RoutingSettings>({ name: 'routing-settings', compute: () => settings });
}
