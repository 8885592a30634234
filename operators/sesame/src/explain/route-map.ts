// Computes the map of routes from the model: the same values that are translated to Envoy, before the translation.
import { Ingress } from '@capstan/kube';
import { type Derived, derivation, type Reader } from '@capstan/reconcile';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import type { Cluster } from '../model/cluster.ts';
import type { HttpOptions } from '../model/http-options.ts';
import type { Origin } from '../model/origin.ts';
import type { Destination, Route } from '../model/route.ts';
import type {
  HostSummary,
  MappedCluster,
  MappedHost,
  MappedListener,
  MappedRoute,
  RouteMap,
} from '../model/route-map.ts';
import { hostKey, ingressesByHost, type RouteGraph, rootsByFqdn } from '../routes/pieces.ts';
import { ANY_NAME, hostNames, inOrder } from '../routing/conditions.ts';
import { filterNames } from '../routing/envoy/http-filters.ts';
import { HTTP_ROUTES, secureRoutesName } from '../routing/envoy/route-message.ts';
import { ingressHosts } from '../routing/ingress/translate-ingress.ts';
import { HTTP3_LISTENER, HTTPS_LISTENER, http3Chain } from '../routing/listener/filter-chain.ts';
import { httpOptions } from '../routing/listener/http-options.ts';
import { configuredAt, HTTP_LISTENER } from '../routing/listener/listeners.ts';
import { readLookup, slicesByService } from '../routing/lookup.ts';
import { globalAuthorization } from '../routing/policy/authorization.ts';
import { matchText } from '../routing/request-match.ts';
import { readyEndpoints, sliceView } from '../routing/upstream/endpoints.ts';
import { clusterEffects, hostEffects, loginEffects, routeEffects } from './effects.ts';
import {
  type ExplainedGateways,
  type GatewayAnswer,
  gatewayHosts,
  gatewayProblems,
  hostsOfGateways,
} from './explain-gateways.ts';
import { NO_PATCHES, type ShownPatches, shownPatches } from './patches.ts';

/** The map of one host, by its name as it is configured (`*.shop.test`); by the empty key, the map of all hosts. */
export function routeMaps(graph: RouteGraph, gateways?: ExplainedGateways): Derived<RouteMap> {
  return derivation<RouteMap>({
    name: 'route-map',
    compute({ key, read }) {
      const hosts = key === '' ? configuredHosts(read) : [key];
      return {
        listeners: byListener([
          ...hosts.flatMap((host) => hostListeners(read, graph, host)),
          ...(gateways ? gatewayListeners(read, graph, gateways, key === '' ? undefined : key) : []),
        ]),
      };
    },
  });
}

/** Every host that is served or that an object names, in order; read with the empty key. */
export function hostSummaries(graph: RouteGraph, gateways?: ExplainedGateways): Derived<readonly HostSummary[]> {
  return derivation<readonly HostSummary[]>({
    name: 'route-map-hosts',
    compute({ read }) {
      const ofGateways = gateways ? hostsOfGateways(read, gateways) : [];
      const names = new Set([...configuredHosts(read), ...ofGateways.map(({ host }) => host)]);
      return [...names].sort().map((host) => {
        const { plain, chain, http3 } = read.derived(graph.pieces, hostKey(host));
        const found = ofGateways.filter((each) => each.host === host);
        return {
          host,
          listeners: [
            ...(plain ? [HTTP_LISTENER] : []),
            ...(chain ? [HTTPS_LISTENER] : []),
            ...(http3 ? [HTTP3_LISTENER] : []),
            ...found.map(({ listener }) => listener),
          ],
          origins: [...objectsOf(read, host), ...found.flatMap(({ origins }) => origins)],
          problems: [...hostProblems(read, graph, host), ...(gateways ? gatewayProblems(read, gateways, host) : [])],
        };
      });
    },
  });
}

/** The hosts that HTTPProxies and Ingresses name. */
function configuredHosts(read: Reader): string[] {
  const ofRoots = read.list(HTTPProxy, {}, fqdnsOf).flat();
  return [...new Set([...ofRoots, ...read.list(Ingress, {}, ingressHosts).flat()])].sort();
}

const fqdnsOf = ({ spec }: HTTPProxy) => hostNames(spec.virtualhost ?? {}).map(({ fqdn }) => fqdn);

/** The listeners of HTTPProxies and Ingresses that serve a host, each with this host alone. */
export function hostListeners(read: Reader, graph: RouteGraph, host: string): MappedListener[] {
  const model = graph.model(read, host);
  if (!model) return [];
  const settings = read.derived(graph.settings, '');
  const { http, https } = settings.envoy;
  const { secure } = model;
  const options = httpOptions(settings);
  const origins = objectsOf(read, host);
  const patches = shownPatches(settings, read.derived(graph.pieces, hostKey(host)));
  const listeners: MappedListener[] = [];
  if (model.plain.length > 0)
    listeners.push({
      name: HTTP_LISTENER,
      address: `${http.address}:${http.port}`,
      origin: configuredAt('envoy.http'),
      hosts: [
        {
          host,
          origins,
          filters: filterNames(
            { options, authorization: globalAuthorization(settings, readLookup(read)) },
            model.policies,
          ),
          effects: [
            ...hostEffects(model.policies, options.errorPages),
            ...patches('VirtualHost', `${HTTP_ROUTES}/${host}`),
            ...patches('Listener', HTTP_LISTENER),
          ],
          routes: inOrder(model.plain).map((route) => mappedRoute(route, read, patches)),
        },
      ],
    });
  if (secure && (secure.tcp || secure.routes.length > 0)) {
    const mapped: MappedHost = {
      host,
      origins,
      filters: secure.tcp
        ? [TCP_PROXY]
        : filterNames(
            {
              options,
              login: secure.login,
              tokens: secure.jwt?.verification,
              authorization: secure.authorization,
              refusesMisdirected: host === ANY_NAME,
            },
            model.policies,
          ),
      effects: [
        ...(secure.tcp ? [] : [...loginEffects(secure.login), ...hostEffects(model.policies, options.errorPages)]),
        ...patches('VirtualHost', secureRoutesName(host)),
        ...patches('FilterChain', `${HTTPS_LISTENER}/${host}`),
        ...patches('Listener', HTTPS_LISTENER),
      ],
      routes: secure.tcp
        ? [mappedStream(secure.tcp, streamOrigin(secure.tcp), read, patches)]
        : inOrder(secure.routes).map((route) => mappedRoute(route, read, patches)),
    };
    const address = `${https.address}:${https.port}`;
    listeners.push({ name: HTTPS_LISTENER, address, origin: configuredAt('envoy.https'), hosts: [mapped] });
    if (http3Chain(model, secure, settings))
      listeners.push({
        name: HTTP3_LISTENER,
        address: `${address}/udp`,
        origin: configuredAt('envoy.http3'),
        hosts: [mapped],
      });
  }
  return listeners;
}

const TCP_PROXY = 'envoy.filters.network.tcp_proxy';

function gatewayListeners(
  read: Reader,
  graph: RouteGraph,
  gateways: ExplainedGateways,
  host: string | undefined,
): MappedListener[] {
  const settings = read.derived(graph.settings, '');
  const options = httpOptions(settings);
  const filters = filterNames({ options, authorization: globalAuthorization(settings, readLookup(read)) });
  return gatewayHosts(read, gateways, host, filters).map((answer) =>
    gatewayListener(answer, read, options, shownPatches(settings)),
  );
}

export function gatewayListener(
  answer: GatewayAnswer,
  read: Reader,
  { errorPages }: HttpOptions,
  patches: ShownPatches,
): MappedListener {
  const { gateway, listener, address, servedAs, origin, stream } = answer;
  const routes = stream
    ? [mappedStream(stream.destinations, stream.origin, read, patches)]
    : answer.routes.map((route) => mappedRoute(route, read, patches));
  const objects = new Map(
    routes.flatMap((route) => (route.origin ? [[objectText(route.origin), wholeObject(route.origin)]] : [])),
  );
  return {
    name: `${listener} of Gateway ${gateway}`,
    address,
    origin,
    hosts: [
      {
        host: servedAs,
        origins: [...objects.values()],
        filters: stream ? [TCP_PROXY] : answer.filters,
        effects: stream ? [] : hostEffects({}, errorPages),
        routes,
      },
    ],
  };
}

function mappedRoute(route: Route, read: Reader, patches: ShownPatches = NO_PATCHES): MappedRoute {
  const { match, action, origin } = route;
  return {
    text: matchText(match),
    match,
    action: action.kind,
    answer: answerText(route),
    effects: routeEffects(route.policies),
    clusters:
      action.kind === 'forward'
        ? [
            ...mappedClusters(action.destinations, read, patches),
            ...action.mirrors.map(({ cluster, share }) =>
              mappedCluster(cluster, share ? (share.parts / share.of) * 100 : 100, true, read, patches),
            ),
          ]
        : [],
    origin,
  };
}

function mappedStream(
  destinations: readonly Destination[],
  origin: Origin | undefined,
  read: Reader,
  patches: ShownPatches = NO_PATCHES,
): MappedRoute {
  return {
    text: 'every connection',
    match: undefined,
    action: 'stream',
    answer: undefined,
    effects: [],
    clusters: mappedClusters(destinations, read, patches),
    origin,
  };
}

/** The object whose `tcpproxy` names the Services: the root, or the HTTPProxy that it includes. */
function streamOrigin([first]: readonly Destination[]): Origin | undefined {
  return first?.cluster && { ...first.cluster.origin, path: 'spec.tcpproxy' };
}

function answerText({ action }: Route): string | undefined {
  switch (action.kind) {
    case 'answer':
      return `answers ${action.status}`;
    case 'upgrade':
      return 'redirects to https';
    case 'redirect':
      return `redirects to ${[action.host, action.path?.kind === 'full' ? action.path.value : ''].filter(Boolean).join(' ')}`;
    case 'forward':
      return undefined;
  }
}

function mappedClusters(destinations: readonly Destination[], read: Reader, patches: ShownPatches): MappedCluster[] {
  const total = destinations.reduce((sum, { weight }) => sum + weight, 0);
  return destinations.flatMap(({ cluster, weight }) => {
    if (!cluster) return [];
    const share = total === 0 || destinations.length === 1 ? 100 : Math.round((weight / total) * 1000) / 10;
    return [mappedCluster(cluster, share, false, read, patches)];
  });
}

function mappedCluster(
  cluster: Cluster,
  share: number,
  isMirror: boolean,
  read: Reader,
  patches: ShownPatches,
): MappedCluster {
  const { name, service, origin } = cluster;
  return {
    name,
    service,
    share,
    isMirror,
    endpoints: endpointsOf(cluster, read),
    effects: [...clusterEffects(cluster), ...patches('Cluster', name)],
    origin,
  };
}

function endpointsOf({ service, endpoints }: Cluster, read: Reader): string[] {
  if (endpoints.kind === 'dns') return [`${endpoints.host}:${endpoints.port}`];
  if (!service) return [];
  const key = `${service.namespace}/${service.name}`;
  // The name of the port, if it has one, follows that of the Service.
  return readyEndpoints(endpoints.name.slice(key.length + 1), read.by(slicesByService, key, sliceView)).map(
    ({ address, port }) => `${address}:${port}`,
  );
}

/** Returns the problems of the HTTPProxies and Ingresses of a host. */
export function hostProblems(read: Reader, graph: RouteGraph, host: string): string[] {
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

/** The HTTPProxies and Ingresses that name the host. */
function objectsOf(read: Reader, host: string): Origin[] {
  const key = hostKey(host);
  const origin = (kind: string, path: string) => (object: string) => {
    const at = object.indexOf('/');
    return { kind, namespace: object.slice(0, at), name: object.slice(at + 1), path };
  };
  return [
    ...read.by(rootsByFqdn, key, keyOf).map(origin('HTTPProxy', 'spec.virtualhost')),
    ...read.by(ingressesByHost, key, keyOf).map(origin('Ingress', 'spec.rules')),
  ];
}

const keyOf = ({ metadata }: { metadata: { namespace?: string | undefined; name?: string | undefined } }) =>
  `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

export function objectText({ kind, namespace, name }: Origin): string {
  return `${kind} ${namespace}/${name}`;
}

function wholeObject({ kind, namespace, name }: Origin): Origin {
  return { kind, namespace, name, path: 'spec' };
}

/** Joins the hosts of the same listener. */
function byListener(listeners: readonly MappedListener[]): MappedListener[] {
  const found = new Map<string, { listener: MappedListener; hosts: MappedHost[] }>();
  for (const listener of listeners) {
    const known = found.get(listener.name);
    if (known) known.hosts.push(...listener.hosts);
    else found.set(listener.name, { listener, hosts: [...listener.hosts] });
  }
  return [...found.values()].map(({ listener, hosts }) => ({ ...listener, hosts }));
}
