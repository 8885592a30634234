// The Envoy listener of one port of a Gateway, from the listeners of the Gateway that share it.
import type { Envoy } from '../../envoy/index.ts';
import type { RouteConfiguration } from '../../routing/assembly/piece.ts';
import { connectionManager } from '../../routing/listener/connection-manager.ts';
import { downstreamTls, tcpProxy } from '../../routing/listener/filter-chain.ts';
import { listenerAddress, listenerFilters, listenerOptions } from '../../routing/listener/listeners.ts';
import type { HostFragment } from '../../routing/listener/virtual-host.ts';
import { compareBytes } from '../../routing/route-order.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import { covers, specificity } from '../api/hostnames.ts';
import type { ListenerState } from '../listeners/listener-state.ts';
import { NO_BACKEND } from '../routes/backends.ts';
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
  authorization?: Envoy.Any,
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
  authorization: Envoy.Any | undefined,
): PortResources {
  const name = `${placement.prefix ?? ''}http-${content.port}`;
  const hosts = new Set(content.hosts.map(({ host }) => host));
  const empty = content.listeners
    .filter(({ host }) => host !== '*' && !hosts.has(host))
    .map(({ host }) => emptyHost(host));
  const manager = managerOf(name, settings.envoy.http.accessLog, settings, authorization);
  return {
    listener: listenerOf(name, content, placement, settings, [{ filters: [manager] }], false, []),
    configurations: [{ name, more: empty }],
  };
}

function tcpPort(content: PortContent, placement: Placement, settings: RoutingSettings): PortResources {
  const [stream] = content.streams;
  if (!stream) return NOTHING;
  const name = `${placement.prefix ?? ''}tcp-${content.port}`;
  const chain = { filters: [streamProxy(name, stream.target, settings)] };
  const listener = listenerOf(name, content, placement, settings, [chain], false, clusterKeys(stream.target));
  return { listener, configurations: [] };
}

const NOTHING: PortResources = { listener: undefined, configurations: [] };

function tlsPort(
  content: PortContent,
  placement: Placement,
  settings: RoutingSettings,
  authorization: Envoy.Any | undefined,
): PortResources {
  const name = `${placement.prefix ?? ''}https-${content.port}`;
  const chains = new Map<string, Envoy.FilterChain>();
  const configurations: RouteConfiguration[] = [];
  const requires: ResourceKey[] = [];
  const secure = content.listeners.filter(({ mode }) => mode === 'https');
  for (const listener of secure) {
    const routes = routesName('https', content.port, listener.name, placement);
    configurations.push({ name: routes, more: otherHosts(content, listener, secure, authorization !== undefined) });
    chains.set(listener.host, {
      ...chainMatch(listener.host),
      filters: [managerOf(routes, settings.envoy.https.accessLog, settings, authorization, name)],
      transport_socket: termination(listener, settings, true),
    });
  }
  for (const { host, listener: listenerName, target } of content.streams) {
    const listener = content.listeners.find((each) => each.name === listenerName);
    // Of several routes for a name the oldest counts.
    if (!listener || chains.has(host)) continue;
    requires.push(...clusterKeys(target));
    chains.set(host, {
      ...chainMatch(host),
      filters: [streamProxy(name, target, settings)],
      transport_socket: listener.mode === 'terminate' ? termination(listener, settings, false) : undefined,
    });
  }
  if (chains.size === 0) return NOTHING;
  const sorted = [...chains].sort(([left], [right]) => compareBytes(left, right));
  const named = sorted.map(([host, chain]) => ({ ...chain, name: host }));
  return { listener: listenerOf(name, content, placement, settings, named, true, requires), configurations };
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

function chainMatch(host: string): Pick<Envoy.FilterChain, 'filter_chain_match'> {
  return { filter_chain_match: host === '*' ? { transport_protocol: 'tls' } : { server_names: [host] } };
}

function managerOf(
  routeName: string,
  logPath: string,
  settings: RoutingSettings,
  authorization: Envoy.Any | undefined,
  statPrefix = routeName,
): Envoy.NetworkFilter {
  return connectionManager(
    { routeName, statPrefix, accessLogPath: logPath, allowsWebsockets: true, authorization },
    settings,
  );
}

function termination(listener: ListenerState, settings: RoutingSettings, isHttp: boolean): Envoy.TransportSocket {
  const { minimumProtocolVersion: minimumVersion, maximumProtocolVersion: maximumVersion } =
    settings.envoy.listener.tls;
  const { clientValidation } = listener;
  const tls = {
    minimumVersion,
    maximumVersion,
    clientValidation: clientValidation?.context,
    requiresClientCertificate: clientValidation?.isRequired ?? false,
  };
  return downstreamTls(tls, listener.certificates, settings, isHttp);
}

function streamProxy(name: string, { weighted }: StreamTarget, settings: RoutingSettings): Envoy.NetworkFilter {
  const used = weighted.length > 0 ? weighted : [{ name: NO_BACKEND, weight: 1 }];
  return tcpProxy(
    name,
    used.map(({ name: cluster, weight }) => ({ cluster: { name: cluster }, weight })),
    settings.envoy.https.accessLog,
    settings,
  );
}

function clusterKeys({ clusters }: StreamTarget): ResourceKey[] {
  return clusters.map(({ key }) => key);
}

function listenerOf(
  name: string,
  { port }: PortContent,
  { address, ports }: Placement,
  settings: RoutingSettings,
  chains: readonly Envoy.FilterChain[],
  isTls: boolean,
  requires: readonly ResourceKey[],
): Resource {
  return createResource({
    type: 'lds',
    name,
    requires,
    value: {
      name,
      ...listenerAddress(address, ports?.[port] ?? port),
      filter_chains: chains,
      ...listenerFilters(settings, isTls),
      ...listenerOptions(settings, address),
    },
  });
}
