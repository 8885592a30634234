// Explains the answer to a request: from the routes of the host, back to the objects of their origin and on to the endpoints. It uses the
// same computation that serves Envoys.
import { type Derived, derivation, type Reader } from '@capstan/reconcile';
import type { MappedCluster, MappedListener, MappedRoute } from '../model/route-map.ts';
import { hostKey, type RouteGraph } from '../routes/pieces.ts';
import { filterNames } from '../routing/envoy/http-filters.ts';
import { httpOptions } from '../routing/listener/http-options.ts';
import { readLookup } from '../routing/lookup.ts';
import { globalAuthorization } from '../routing/policy/authorization.ts';
import { fits, type RequestView } from '../routing/request-match.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { type ExplainedGateways, gatewayAnswers, gatewayProblems } from './explain-gateways.ts';
import { shownPatches } from './patches.ts';
import { gatewayListener, hostListeners, hostProblems, objectText } from './route-map.ts';

export interface Explanation {
  readonly host: string;
  readonly path: string;
  /** The host as it is configured, `*.shop.test` for `a.shop.test`; undefined when nothing serves it. */
  readonly servedAs: string | undefined;
  readonly listeners: readonly ExplainedListener[];
  /** The problems of the objects of the host. */
  readonly problems: readonly string[];
}

export interface ExplainedListener {
  readonly name: string;
  readonly address: string;
  /** Filters that a request passes, in order. */
  readonly filters: readonly string[];
  /** Effects of policies on all requests of the host, each with its field. */
  readonly effects: readonly string[];
  /** Routes whose path fits, in the order in which Envoy looks: the first whose conditions hold is taken. */
  readonly routes: readonly ExplainedRoute[];
}

export interface ExplainedRoute {
  readonly match: string;
  /** `HTTPProxy default/shop`. */
  readonly from: string | undefined;
  /** `spec.routes[1]`. */
  readonly field: string | undefined;
  /** The includes that lead there, the root first: `HTTPProxy default/root, spec.includes[0]`. */
  readonly through: readonly string[] | undefined;
  /** The answer of a route that sends to no Service. */
  readonly answer: string | undefined;
  /** Effects of its policies. */
  readonly effects: readonly string[];
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
  /** Effects of policies of the Service, each with its field. */
  readonly effects: readonly string[];
}

/** The request to explain. */
export interface ExplainedRequest {
  readonly host: string;
  /** With its query, if it has one. */
  readonly path: string;
  /** With headers or a method the request is known whole: conditions that do not hold are left out. */
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The key of an explanation: `host/path`, with a path of `/` at least. */
export function explanationKey({ host, path, method, headers }: ExplainedRequest): string {
  const known = method === undefined && headers === undefined ? '' : `\n${JSON.stringify({ method, headers })}`;
  return `${host}${path}${known}`;
}

/** The request of a key, as matches see it. */
export function requestView(key: string): RequestView {
  return requestOf(key).view;
}

function requestOf(key: string): ExplainedRequest & { readonly view: RequestView } {
  const [place = '', known] = key.split('\n');
  const slash = place.indexOf('/');
  const [host, path] = [place.slice(0, slash).toLowerCase(), place.slice(slash)];
  const [bare = '', query] = path.split('?');
  const { method, headers = {} } = (known === undefined ? {} : JSON.parse(known)) as Partial<ExplainedRequest>;
  const names = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  return {
    host,
    path,
    view: {
      path: bare,
      query: query === undefined && known === undefined ? undefined : new URLSearchParams(query),
      headers: known === undefined ? undefined : { ':method': method ?? 'GET', ...Object.fromEntries(names) },
    },
  };
}

/** Keys are those of `explanationKey`. */
export function explanations(graph: RouteGraph, gateways?: ExplainedGateways): Derived<Explanation> {
  return derivation<Explanation>({
    name: 'explanation',
    compute({ key, read }) {
      const { host, path, view } = requestOf(key);
      const settings = read.derived(graph.settings, '');
      const options = httpOptions(settings);
      const filters = filterNames({ options, authorization: globalAuthorization(settings, readLookup(read)) });
      const ofGateways = gateways ? gatewayAnswers(read, gateways, host, filters) : [];
      const own = candidates(host).find((name) => isServed(read, graph, name));
      return {
        host,
        path,
        servedAs: own ?? ofGateways[0]?.servedAs,
        listeners: [
          ...(own === undefined ? [] : hostListeners(read, graph, own)).map((each) => explainListener(each, view)),
          ...ofGateways.map((answer) => {
            const listener = explainListener(gatewayListener(answer, read, options, shownPatches(settings)), view);
            const { servedAs } = answer;
            return { ...listener, name: `${listener.name}${servedAs === host ? '' : `, served as ${servedAs}`}` };
          }),
        ],
        problems: [
          ...hostProblems(read, graph, own ?? host),
          ...(gateways ? gatewayProblems(read, gateways, host) : []),
        ],
      };
    },
  });
}

/** The listener as a request meets it: with those of its routes that may be for the request. */
function explainListener({ name, address, hosts: [host] }: MappedListener, request: RequestView): ExplainedListener {
  return {
    name,
    address,
    filters: host?.filters ?? [],
    effects: host?.effects ?? [],
    routes: (host?.routes ?? []).flatMap((route) => {
      const found = route.match ? fits(route.match, request) : 'yes';
      return found === 'no' ? [] : explainRoute(route, found === 'yes');
    }),
  };
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

function explainRoute(route: MappedRoute, isUnconditional: boolean): ExplainedRoute {
  const { text, origin, answer, effects, clusters } = route;
  return {
    match: text,
    from: origin && objectText(origin),
    field: origin?.path,
    through: origin?.through,
    answer,
    effects,
    services: clusters.filter(({ isMirror }) => !isMirror).map(shownService),
    isUnconditional,
  };
}

export function shownService({ name, service, share, endpoints, effects }: MappedCluster): ExplainedService {
  const { namespace = '', name: serviceName = '', port } = service ?? {};
  return { cluster: name, service: `${namespace}/${serviceName} port ${port ?? ''}`, share, endpoints, effects };
}

export function settingsOnly(settings: RoutingSettings): Derived<RoutingSettings> {
  return derivation<RoutingSettings>({ name: 'routing-settings', compute: () => settings });
}
