// The Gateways that serve a host, their listeners and routes, and the problems of routes that name it.
import type { Kind } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { covers, mostSpecific, specificity } from '../gateway/api/hostnames.ts';
import type { AnyRoute, Gateway, GatewayKinds, RouteKindName } from '../gateway/api/objects.ts';
import type { PlannedHost } from '../gateway/envoy/host-plan.ts';
import { firstOfEach } from '../gateway/envoy/host-routes.ts';
import type { GatewayGraph, OwnGateway } from '../gateway/graph/gateway-graph.ts';
import type { ListenerState } from '../gateway/listeners/listener-state.ts';
import type { Origin } from '../model/origin.ts';
import type { Destination, Route } from '../model/route.ts';
import { inOrder } from '../routing/conditions.ts';

export interface GatewayAnswer {
  readonly gateway: string;
  readonly listener: string;
  readonly address: string;
  /** The host as a route or listener has it. */
  readonly servedAs: string;
  /** Filters that a request passes, in order. */
  readonly filters: readonly string[];
  /** In the order in which Envoy looks; empty for a connection. */
  readonly routes: readonly Route[];
  readonly stream: ExplainedStream | undefined;
  readonly origin: Origin;
}

export interface ExplainedStream {
  readonly destinations: readonly Destination[];
  readonly origin: Origin | undefined;
}

export interface ExplainedGateways {
  readonly graph: GatewayGraph;
  readonly kinds: GatewayKinds;
}

/** The answers of all Gateways to a request for the host: of each port, that of the most specific listener. */
export function gatewayAnswers(
  read: Reader,
  gateways: ExplainedGateways,
  host: string,
  filters: readonly string[],
): GatewayAnswer[] {
  return ownGateways(read, gateways).flatMap((gateway) => {
    const served = gateway.own.state.listeners.filter(({ isServed }) => isServed);
    const planned = read.derived(gateways.graph.hosts, gateway.key);
    return [...new Set(served.map(({ port }) => port))].flatMap((port) => {
      const ofPort = served.filter((listener) => listener.port === port);
      const listener = mostSpecific(ofPort, host);
      const found = listener && hostOf(planned, listener, host);
      return listener && found ? [answerOf(read, gateways.graph, gateway, listener, found, filters)] : [];
    });
  });
}

/** The answers of all Gateways for their hosts; of one host, as it is configured, where it is given. */
export function gatewayHosts(
  read: Reader,
  gateways: ExplainedGateways,
  host: string | undefined,
  filters: readonly string[],
): GatewayAnswer[] {
  return ownGateways(read, gateways).flatMap((gateway) =>
    read.derived(gateways.graph.hosts, gateway.key).flatMap((planned) => {
      if (host !== undefined && planned.host !== host) return [];
      const listener = gateway.own.state.listeners.find(({ name }) => name === planned.listener);
      return listener ? [answerOf(read, gateways.graph, gateway, listener, planned, filters)] : [];
    }),
  );
}

/** The hosts of all Gateways, each with its listener and the objects of its routes. */
export function hostsOfGateways(
  read: Reader,
  gateways: ExplainedGateways,
): { readonly host: string; readonly listener: string; readonly origins: readonly Origin[] }[] {
  return ownGateways(read, gateways).flatMap(({ key }) =>
    read.derived(gateways.graph.hosts, key).map(({ host, listener, routes }) => ({
      host,
      listener: `${listener} of Gateway ${key}`,
      origins: routes.map((route) => {
        const [kind = '', namespace = '', name = ''] = route.split('/');
        return { kind, namespace, name, path: 'spec' };
      }),
    })),
  );
}

function answerOf(
  read: Reader,
  graph: GatewayGraph,
  { key, own, address }: ExplainedGateway,
  listener: ListenerState,
  { host, port, routes: names }: PlannedHost,
  filters: readonly string[],
): GatewayAnswer {
  const { namespace, name } = own;
  const place = {
    gateway: key,
    listener: listener.name,
    address: `${address ?? 'no address yet'}:${port}`,
    servedAs: host,
    filters,
    origin: { kind: 'Gateway', namespace, name, path: `spec.listeners[${own.state.listeners.indexOf(listener)}]` },
  };
  if (listener.mode !== 'http' && listener.mode !== 'https') {
    const [oldest = ''] = names;
    const { destinations, origin } = read.derived(graph.streams, `${oldest}@${key}@tls:${port}`);
    return { ...place, routes: [], stream: { destinations, origin } };
  }
  const routes = names.flatMap(
    (route) => read.derived(graph.translated, `${route}@${key}@${listener.mode ?? ''}:${port}`).routes,
  );
  return { ...place, routes: inOrder(firstOfEach(routes)), stream: undefined };
}

/** Returns the problems of listeners for the host, and of the routes that name it. */
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

interface ExplainedGateway {
  readonly key: string;
  readonly own: OwnGateway;
  readonly address: string | undefined;
}

function ownGateways(read: Reader, { graph, kinds }: ExplainedGateways): ExplainedGateway[] {
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
