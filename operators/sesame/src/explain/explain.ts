// Why a request to a host and path is answered as it is: from what is served for the host, back to the objects that it was computed
// from and on to the endpoints. It is the same computation that serves Envoys.
import { type Derived, derivation, type Reader } from '@capstan/reconcile';
import { type Envoy, plainItems } from '../envoy/index.ts';
import { addressesOf, clustersOf, contentOf, managerOf, matchText, type Target, tcpProxyOf } from '../routes/dag.ts';
import { hostKey, ingressesByHost, type RouteGraph, rootsByFqdn } from '../routes/pieces.ts';
import { HTTPS_LISTENER } from '../routing/listener/filter-chain.ts';
import { HTTP_LISTENER, httpListener } from '../routing/listener/listeners.ts';
import { globalAuthorization } from '../routing/policy/authorization.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { readLookup } from '../routing/tracked-lookup.ts';
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
      const routesOf = ({ routes = [] }: Envoy.VirtualHost) => explainRoutes(routes, path, clusters, read, graph);
      const listeners: ExplainedListener[] = [];
      if (piece.plain) {
        const { http } = settings.envoy;
        listeners.push({
          name: HTTP_LISTENER,
          address: `${http.address}:${http.port}`,
          filters: filtersOf(
            plainItems(
              contentOf('lds', httpListener(settings, globalAuthorization(settings, readLookup(read)))).filter_chains,
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
            ? routesOf(plainItems(contentOf('rds', routes).virtual_hosts)[0] ?? {})
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
  routes: readonly Envoy.Route[],
  path: string,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute[] {
  return routes
    .filter((route) => fits(route.match ?? {}, path))
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

function filtersOf({ filters = [] }: Envoy.FilterChain): string[] {
  return filters.flatMap((filter) => {
    const http = plainItems(managerOf(filter)?.http_filters).map(({ name = '' }) => name);
    return http.length > 0 ? http : [filter.name ?? ''];
  });
}

function explainRoute(
  route: Envoy.Route,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute {
  const { match = {}, metadata } = route;
  const origin = metadata?.filter_metadata?.['envoy.access_loggers.file'] ?? {};
  const part = (name: string) => {
    const value = origin[`io.projectsesame.${name}`];
    return typeof value === 'string' ? value : '';
  };
  const kind = part('kind');
  return {
    match: matchText(match),
    from: kind === '' ? undefined : `${kind} ${part('namespace')}/${part('name')}`,
    answer: answerOf(route),
    services: explainServices(route.route ?? {}, clusters, read, graph),
    isUnconditional:
      (match.headers ?? []).every(({ name }) => name === ':authority') && (match.query_parameters ?? []).length === 0,
  };
}

function tcpRoutes(
  { filters = [] }: Envoy.FilterChain,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedRoute[] {
  return filters.map((filter) => ({
    match: 'every connection',
    from: undefined,
    answer: undefined,
    services: explainServices(tcpProxyOf(filter) ?? {}, clusters, read, graph),
    isUnconditional: true,
  }));
}

function answerOf({ direct_response: direct, redirect }: Envoy.Route): string | undefined {
  if (direct?.status !== undefined) return `answers ${direct.status}`;
  if (redirect === undefined) return undefined;
  const { https_redirect: isSecure, host_redirect: host, path_redirect: path } = redirect;
  const target = [isSecure === true ? 'https' : '', host, path].filter(Boolean);
  return `redirects to ${target.join(' ')}`;
}

function explainServices(
  target: Target,
  clusters: ReadonlyMap<string, Resource>,
  read: Reader,
  graph: RouteGraph,
): ExplainedService[] {
  const weights = new Map(
    (target.weighted_clusters?.clusters ?? []).map(({ name = '', weight = 0 }) => [name, weight]),
  );
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return clustersOf(target).map((name) => {
    const value = clusters.get(name);
    const cluster: Envoy.Cluster = value ? contentOf('cds', value) : {};
    const assignment = cluster.eds_cluster_config?.service_name;
    const [namespace = '', service = ''] = (assignment ?? name).split('/');
    const port = (cluster.alt_stat_name ?? '').split('_').at(-1) ?? '';
    return {
      cluster: name,
      service: `${namespace}/${service} port ${port}`,
      share: total === 0 ? 100 : Math.round(((weights.get(name) ?? 0) / total) * 1000) / 10,
      endpoints: endpointsOf(read, graph, `${namespace}/${service}`, assignment ?? ''),
    };
  });
}

function endpointsOf(read: Reader, graph: RouteGraph, service: string, assignment: string): string[] {
  const found = read.derived(graph.pieces, service).endpoints.find(({ name }) => name === assignment);
  return found ? addressesOf(contentOf('eds', found)) : [];
}

/** Whether a path is one that the match takes. */
export function fits(match: Envoy.RouteMatch, path: string): boolean {
  const { path: exact, path_separated_prefix: segments, prefix = '/', safe_regex: matcher } = match;
  if (exact !== undefined) return path === exact;
  if (segments !== undefined) return path === segments || path.startsWith(`${segments}/`);
  if (matcher?.regex === undefined) return path.startsWith(prefix);
  try {
    return new RegExp(`^(?:${matcher.regex})$`).test(path);
  } catch {
    // Legal for Envoy and not here: it may fit.
    return true;
  }
}

export function settingsOnly(settings: RoutingSettings): Derived<RoutingSettings> {
  return derivation<RoutingSettings>({ name: 'routing-settings', compute: () => settings });
}
