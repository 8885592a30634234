// The Envoy listener of one port of a Gateway, from the listeners of the Gateway that share it.
import type {
  AuthorizationService,
  DownstreamTls,
  FilterChain,
  HttpTraffic,
  StreamTraffic,
} from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import type { Destination } from '../../model/route.ts';
import type { RouteConfiguration } from '../../routing/assembly/piece.ts';
import { compareBytes } from '../../routing/conditions.ts';
import { clusterKey, originTexts } from '../../routing/envoy/cluster-message.ts';
import { chainMessage, listenerMessage } from '../../routing/envoy/listener-message.ts';
import { type HostFragment, NO_BACKEND } from '../../routing/envoy/route-message.ts';
import { sharedTls } from '../../routing/listener/filter-chain.ts';
import { accessLog, httpOptions } from '../../routing/listener/http-options.ts';
import { type ListenerModel, trafficListener } from '../../routing/listener/listeners.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import { covers, specificity } from '../api/hostnames.ts';
import type { ListenerState } from '../listeners/listener-state.ts';
import type { StreamTarget } from '../routes/translated-route.ts';
import { emptyHost, misdirectedHost } from './host-routes.ts';

/** Where a Gateway's ports are opened by Envoy. */
export interface Placement {
  readonly address: string;
  /** Envoy's port for a listener's, by that port; the same port where it is not listed. */
  readonly ports?: Readonly<Record<number, number>>;
  /** Part of the names of listeners, where one Envoy serves several Gateways; '' by default. */
  readonly prefix?: string;
}

export interface ServedHost {
  readonly listener: string;
  readonly host: string;
}

export interface ServedStream {
  readonly listener: string;
  readonly host: string;
  readonly target: StreamTarget;
}

export interface PortContent {
  readonly port: number;
  /** Those of the port that are served. */
  readonly listeners: readonly ListenerState[];
  readonly hosts: readonly ServedHost[];
  readonly streams: readonly ServedStream[];
  /** The Gateway. */
  readonly origin: Origin;
}

/** The listener, if anything is served on the port, and its route configurations without the hosts that routes serve. */
export interface PortResources {
  readonly listener: Resource | undefined;
  readonly configurations: readonly RouteConfiguration[];
}

/** The name of the route configuration of a listener that serves HTTP. */
export function routesName(mode: string, port: number, listener: string, { prefix = '' }: Placement): string {
  return mode === 'http' ? `${prefix}http-${port}` : `${prefix}https-${port}/${listener}`;
}

/** `authorization` is the filter that holds for every host; none by default. */
export function portResources(
  content: PortContent,
  placement: Placement,
  settings: RoutingSettings,
  authorization?: AuthorizationService,
): PortResources {
  const [first] = content.listeners;
  if (first?.mode === 'http') return httpPort(content, placement, settings, authorization);
  if (first?.mode === 'tcp') return tcpPort(content, placement, settings);
  return tlsPort(content, placement, settings, authorization);
}

function httpPort(
  content: PortContent,
  placement: Placement,
  settings: RoutingSettings,
  authorization: AuthorizationService | undefined,
): PortResources {
  const name = `${placement.prefix ?? ''}http-${content.port}`;
  const hosts = new Set(content.hosts.map(({ host }) => host));
  const empty = content.listeners
    .filter(({ host }) => host !== '*' && !hosts.has(host))
    .map(({ host }) => emptyHost(host));
  const chain: FilterChain = {
    fqdn: undefined,
    statPrefix: name,
    accessLog: accessLog(settings.envoy.http.accessLog, settings),
    traffic: httpTraffic(name, settings, authorization),
    tls: undefined,
    origins: [content.origin],
  };
  return {
    listener: listenerOf(name, content, placement, settings, [chain], false, []),
    configurations: [{ name, more: empty }],
  };
}

function tcpPort(content: PortContent, placement: Placement, settings: RoutingSettings): PortResources {
  const [stream] = content.streams;
  if (!stream) return NOTHING;
  const name = `${placement.prefix ?? ''}tcp-${content.port}`;
  const chain: FilterChain = {
    fqdn: undefined,
    statPrefix: name,
    accessLog: accessLog(settings.envoy.https.accessLog, settings),
    traffic: streamTraffic(stream.target),
    tls: undefined,
    origins: streamOrigins(stream.target, content),
  };
  const listener = listenerOf(name, content, placement, settings, [chain], false, clusterKeys(stream.target));
  return { listener, configurations: [] };
}

const NOTHING: PortResources = { listener: undefined, configurations: [] };

function tlsPort(
  content: PortContent,
  placement: Placement,
  settings: RoutingSettings,
  authorization: AuthorizationService | undefined,
): PortResources {
  const name = `${placement.prefix ?? ''}https-${content.port}`;
  const chains = new Map<string, FilterChain>();
  const configurations: RouteConfiguration[] = [];
  const requires: ResourceKey[] = [];
  const secure = content.listeners.filter(({ mode }) => mode === 'https');
  const common = { statPrefix: name, accessLog: accessLog(settings.envoy.https.accessLog, settings) };
  for (const listener of secure) {
    const routes = routesName('https', content.port, listener.name, placement);
    configurations.push({ name: routes, more: otherHosts(content, listener, secure, authorization !== undefined) });
    chains.set(listener.host, {
      fqdn: listener.host,
      name: listener.host,
      ...common,
      traffic: httpTraffic(routes, settings, authorization),
      tls: termination(listener, settings, 'http'),
      origins: [content.origin],
    });
  }
  for (const { host, listener: listenerName, target } of content.streams) {
    const listener = content.listeners.find((each) => each.name === listenerName);
    // The oldest of several routes for a name counts.
    if (!listener || chains.has(host)) continue;
    requires.push(...clusterKeys(target));
    chains.set(host, {
      fqdn: host,
      name: host,
      ...common,
      traffic: streamTraffic(target),
      tls: listener.mode === 'terminate' ? termination(listener, settings, 'stream') : undefined,
      origins: streamOrigins(target, content),
    });
  }
  if (chains.size === 0) return NOTHING;
  const sorted = [...chains].sort(([left], [right]) => compareBytes(left, right)).map(([, chain]) => chain);
  return { listener: listenerOf(name, content, placement, settings, sorted, true, requires), configurations };
}

function hostsOf({ hosts }: PortContent, { name }: ListenerState): ServedHost[] {
  return hosts.filter(({ listener }) => listener === name);
}

/** Names that reach the filter chain of a listener without being served by it. */
function otherHosts(
  content: PortContent,
  own: ListenerState,
  all: readonly ListenerState[],
  isAuthorized: boolean,
): HostFragment[] {
  const served = new Set(hostsOf(content, own).map(({ host }) => host));
  const narrower = all.filter(
    ({ host }) => host !== own.host && covers(own.host, host) && specificity(host) > specificity(own.host),
  );
  return [
    ...narrower.map(({ host }) => misdirectedHost(host, isAuthorized)),
    ...(own.host === '*' ? [] : [misdirectedHost('*', isAuthorized)]),
    ...(own.host === '*' || served.has(own.host) ? [] : [emptyHost(own.host)]),
  ];
}

function httpTraffic(
  routes: string,
  settings: RoutingSettings,
  authorization: AuthorizationService | undefined,
): HttpTraffic {
  return { kind: 'http', routes, options: httpOptions(settings), allowsWebsockets: true, authorization };
}

function streamTraffic({ destinations }: StreamTarget): StreamTraffic {
  const used: readonly Destination[] = destinations.length > 0 ? destinations : [{ cluster: undefined, weight: 1 }];
  return {
    kind: 'stream',
    destinations: used.map(({ cluster, weight }) => ({ cluster: cluster ?? { name: NO_BACKEND }, weight })),
  };
}

function streamOrigins({ origin }: StreamTarget, content: PortContent): readonly Origin[] {
  return origin ? [origin, content.origin] : [content.origin];
}

function termination(listener: ListenerState, settings: RoutingSettings, traffic: 'http' | 'stream'): DownstreamTls {
  const { minimumProtocolVersion, maximumProtocolVersion } = settings.envoy.listener.tls;
  const { clientValidation } = listener;
  return {
    certificates: listener.certificates.map(({ name }) => name),
    minimumVersion: minimumProtocolVersion,
    maximumVersion: maximumProtocolVersion,
    ...sharedTls(settings, traffic),
    clientValidation: clientValidation?.validation,
    requiresClientCertificate: clientValidation?.isRequired ?? false,
  };
}

function clusterKeys({ destinations }: StreamTarget): ResourceKey[] {
  return destinations.flatMap(({ cluster }) => (cluster ? clusterKey(cluster) : []));
}

function listenerOf(
  name: string,
  { port, origin }: PortContent,
  { address, ports }: Placement,
  settings: RoutingSettings,
  chains: readonly FilterChain[],
  isTls: boolean,
  requires: readonly ResourceKey[],
): Resource {
  const listener = trafficListener({ name, address, port: ports?.[port] ?? port, isTls, origin }, settings);
  const model: ListenerModel = { ...listener, chains };
  return createResource({
    type: 'lds',
    name,
    requires,
    value: listenerMessage(listener, chains.map(chainMessage)),
    origins: originTexts([origin, ...chains.flatMap(({ origins }) => origins)]),
    model,
  });
}
