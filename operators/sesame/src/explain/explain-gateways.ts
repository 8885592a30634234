// Which Gateways serve a host, by which listeners and routes, and what is wrong with the routes that name it.
import type { Kind } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { type Envoy, plainItems } from '../envoy/index.ts';
import { covers, mostSpecific, specificity } from '../gateway/api/hostnames.ts';
import type { AnyRoute, Gateway, GatewayKinds, RouteKindName } from '../gateway/api/objects.ts';
import type { PlannedHost } from '../gateway/envoy/host-plan.ts';
import { hostRoutes } from '../gateway/envoy/host-routes.ts';
import type { GatewayGraph, OwnGateway } from '../gateway/graph/gateway-graph.ts';
import type { ListenerState } from '../gateway/listeners/listener-state.ts';
import { NO_BACKEND } from '../gateway/routes/backends.ts';
import { contentOf, type Target } from '../routes/dag.ts';
import type { Resource } from '../xds/index.ts';

export interface GatewayAnswer {
  readonly gateway: string;
  readonly listener: string;
  readonly address: string;
  /** The host as a route or listener has it. */
  readonly servedAs: string;
  readonly chain: Envoy.FilterChain;
  /** Routes of Envoy, for HTTP; of a connection its targets. */
  readonly routes: readonly Envoy.Route[];
  readonly stream: { readonly from: string; readonly action: Target } | undefined;
  readonly clusters: ReadonlyMap<string, Resource>;
}

export interface ExplainedGateways {
  readonly graph: GatewayGraph;
  readonly kinds: GatewayKinds;
}

export function gatewayAnswers(read: Reader, { graph, kinds }: ExplainedGateways, host: string): GatewayAnswer[] {
  return ownGateways(read, { graph, kinds }).flatMap(({ key, own, address }) => {
    const served = own.state.listeners.filter(({ isServed }) => isServed);
    const planned = read.derived(graph.hosts, key);
    return [...new Set(served.map(({ port }) => port))].flatMap((port) => {
      const ofPort = served.filter((listener) => listener.port === port);
      const listener = mostSpecific(ofPort, host);
      const found = listener && hostOf(planned, listener, host);
      if (!listener || !found) return [];
      const place = {
        gateway: key,
        listener: listener.name,
        address: `${address ?? 'no address yet'}:${port}`,
        servedAs: found.host,
        chain: chainOf(graph.piece(`gateway/${key}`, read).resources, port, listener, found.host),
      };
      if (listener.mode !== 'http' && listener.mode !== 'https') return [streamAnswer(read, graph, key, found, place)];
      const entries = found.routes.flatMap(
        (route) => read.derived(graph.translated, `${route}@${key}@${listener.mode ?? ''}:${port}`).entries,
      );
      const clusters = entries.flatMap((entry) => entry.clusters);
      return [
        {
          ...place,
          routes: hostRoutes('', found.host, entries).fragment.value.routes ?? [],
          stream: undefined,
          clusters: new Map(clusters.map((cluster) => [cluster.name, cluster])),
        },
      ];
    });
  });
}

function streamAnswer(
  read: Reader,
  graph: GatewayGraph,
  key: string,
  { routes: [oldest = ''], port }: PlannedHost,
  place: Pick<GatewayAnswer, 'gateway' | 'listener' | 'address' | 'servedAs' | 'chain'>,
): GatewayAnswer {
  const { weighted, clusters } = read.derived(graph.streams, `${oldest}@${key}@tls:${port}`);
  const targets = weighted.filter(({ name }) => name !== NO_BACKEND);
  return {
    ...place,
    routes: [],
    stream: { from: routeName(oldest), action: { weighted_clusters: { clusters: targets } } },
    clusters: new Map(clusters.map((cluster) => [cluster.name, cluster])),
  };
}

/** What is wrong with listeners for the host, and with the routes that name it. */
export function gatewayProblems(read: Reader, { graph, kinds }: ExplainedGateways, host: string): string[] {
  return ownGateways(read, { graph, kinds }).flatMap(({ key, own }) => {
    const listeners = own.state.listeners
      .filter((listener) => covers(listener.host, host))
      .flatMap(({ name, conditions }) =>
        conditions
          .filter(({ type, status }) => status === 'False' && (type === 'Accepted' || type === 'ResolvedRefs'))
          .map(({ reason, message }) => `Gateway ${key}, listener ${name}: ${reason}: ${message ?? ''}`),
      );
    const routes = read.derived(graph.routes, key).flatMap(({ kind, key: route, attachments }) => {
      const at = route.indexOf('/');
      const ref = { namespace: route.slice(0, at), name: route.slice(at + 1) };
      const hostnames = read.get(kinds[kind] as Kind<AnyRoute>, ref, hostnamesOf) ?? [];
      if (hostnames.length > 0 && !hostnames.some((each) => covers(each.toLowerCase(), host))) return [];
      return [
        ...attachments.flatMap(({ refusal }) => (refusal ? [`${refusal.reason}: ${refusal.message}`] : [])),
        ...routeProblems(read, graph, kind, `${kind}/${route}@${key}@http:80`),
      ].map((problem) => `${kind} ${route}: ${problem}`);
    });
    return [...listeners, ...routes];
  });
}

function routeProblems(read: Reader, graph: GatewayGraph, kind: RouteKindName, key: string): string[] {
  const { refProblems, invalidRules } =
    kind === 'HTTPRoute' || kind === 'GRPCRoute'
      ? read.derived(graph.translated, key)
      : { ...read.derived(graph.streams, key), invalidRules: [] };
  return [...refProblems.map(({ reason, message }) => `${reason}: ${message}`), ...invalidRules];
}

function ownGateways(
  read: Reader,
  { graph, kinds }: ExplainedGateways,
): { key: string; own: OwnGateway; address: string | undefined }[] {
  if (read.access(kinds.Gateway) !== 'served') return [];
  return read.list(kinds.Gateway, {}, identityOf).flatMap(({ key, address }) => {
    const own = read.derived(graph.gateways, key);
    return own ? [{ key, own, address }] : [];
  });
}

function identityOf({ metadata, status }: Gateway): { key: string; address: string | undefined } {
  return { key: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`, address: status?.addresses?.[0]?.value };
}

const hostnamesOf = ({ spec }: AnyRoute): readonly string[] => ('hostnames' in spec ? (spec.hostnames ?? []) : []);

/** The most specific name of the listener that covers the host. */
function hostOf(planned: readonly PlannedHost[], { name, port }: ListenerState, host: string): PlannedHost | undefined {
  return planned
    .filter((each) => each.listener === name && each.port === port && covers(each.host, host))
    .toSorted((left, right) => specificity(right.host) - specificity(left.host))[0];
}

/** A TLS listener has a chain for each name, HTTP and TCP have one in all. */
function chainOf(
  resources: readonly Resource[],
  port: number,
  { mode, host }: ListenerState,
  name: string,
): Envoy.FilterChain {
  const prefix = mode === 'http' ? 'http' : mode === 'tcp' ? 'tcp' : 'https';
  const listener = resources.find((each) => each.type === 'lds' && each.name.endsWith(`${prefix}-${port}`));
  const chains = listener ? plainItems(contentOf('lds', listener).filter_chains) : [];
  return chains.find((chain) => chain.name === name) ?? chains.find((chain) => chain.name === host) ?? chains[0] ?? {};
}

/** `HTTPRoute/default/shop` to `HTTPRoute default/shop`. */
function routeName(route: string): string {
  return route.replace('/', ' ');
}
