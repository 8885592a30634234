// Listeners: the two for traffic, and those for Envoy's own statistics, readiness and admin pages.
import { type Envoy, Fragment, type FragmentChunk, type Struct } from '../../envoy/index.ts';
import type { NamedSecret } from '../../model/certificate.ts';
import type { AuthorizationService, DownstreamTls, FilterChain, Listener, Page } from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import { createResource, PART_MARKER, PART_MARKER_CONFIG, type Resource, type ResourceKey } from '../../xds/index.ts';
import { chainMessage, FILTER_CHAIN, listenerMessage } from '../envoy/listener-message.ts';
import { HTTP_ROUTES } from '../envoy/route-message.ts';
import { secretResource } from '../envoy/secret-message.ts';
import type { RoutingSettings, TlsFileSettings } from '../settings.ts';
import { type ChainFragment, HTTP3_LISTENER, HTTPS_LISTENER } from './filter-chain.ts';
import { accessLog, httpOptions } from './http-options.ts';

export const HTTP_LISTENER = 'ingress_http';

/** A listener with its filter chains, as they are translated to Envoy's. */
export interface ListenerModel extends Listener {
  readonly chains: readonly FilterChain[];
}

export function httpListener(settings: RoutingSettings, authorization: AuthorizationService | undefined): Resource {
  return listenerResource(plainListener(settings, authorization));
}

function listenerResource(model: ListenerModel): Resource {
  const { chains, ...listener } = model;
  return createResource({
    type: 'lds',
    name: listener.name,
    value: listenerMessage(listener, chains.map(chainMessage)),
    model,
  });
}

function plainListener(settings: RoutingSettings, authorization: AuthorizationService | undefined): ListenerModel {
  const { http } = settings.envoy;
  const origin = configuredAt('envoy.http');
  const chain: FilterChain = {
    fqdn: undefined,
    statPrefix: HTTP_LISTENER,
    accessLog: accessLog(http.accessLog, settings),
    traffic: { kind: 'http', routes: HTTP_ROUTES, options: httpOptions(settings), authorization, isShared: true },
    tls: undefined,
    origins: [origin],
  };
  return { ...trafficListener({ name: HTTP_LISTENER, ...http, isTls: false, origin }, settings), chains: [chain] };
}

function tlsListener(name: typeof HTTPS_LISTENER | typeof HTTP3_LISTENER, settings: RoutingSettings): Listener {
  if (name === HTTP3_LISTENER) return http3Listener(settings);
  return trafficListener({ name, ...settings.envoy.https, isTls: true, origin: configuredAt('envoy.https') }, settings);
}

/** Composed of the chains of all hosts with TLS, in the order of their names. */
export function secureListener(
  name: typeof HTTPS_LISTENER | typeof HTTP3_LISTENER,
  settings: RoutingSettings,
  chains: readonly FragmentChunk<typeof FILTER_CHAIN>[],
  contentHash: string,
  requires: readonly ResourceKey[],
  patch: (message: Envoy.Listener) => Envoy.Listener = (message) => message,
): Resource {
  const listener = tlsListener(name, settings);
  return createResource({
    type: 'lds',
    name,
    contentHash,
    requires,
    composition: {
      chunks: chains,
      of: (others: readonly FragmentChunk<typeof FILTER_CHAIN>[], hash) =>
        secureListener(name, settings, others, hash, requires, patch),
      nameOf: ({ value }: ChainFragment) => value.name ?? '',
      marker: CHAIN_MARKER,
    },
    value: () => patch(listenerMessage(listener, chains)),
    model: { ...listener, chains: [] },
  });
}

const CHAIN_MARKER = new Fragment(
  FILTER_CHAIN,
  {
    name: PART_MARKER,
    filter_chain_match: { server_names: [`${PART_MARKER}.invalid`] },
    transport_socket: { name: PART_MARKER, typed_config: PART_MARKER_CONFIG },
  },
  true,
);

/** Over UDP, at the address and port of the listener for HTTPS. */
function http3Listener({ envoy }: RoutingSettings): Listener {
  return {
    name: HTTP3_LISTENER,
    address: envoy.https.address,
    port: envoy.https.port,
    isQuic: true,
    hasProxyProtocol: false,
    tlsInspection: undefined,
    socket: undefined,
    bufferLimitBytes: envoy.listener.perConnectionBufferLimitBytes,
    origin: configuredAt('envoy.http3'),
  };
}

interface ListenerPlan {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly origin: Origin;
}

/** A listener for traffic, as the configuration has all of them. */
export function trafficListener(
  { name, address, port, isTls, origin }: ListenerPlan,
  { envoy }: RoutingSettings,
): Listener {
  const { useProxyProtocol, tls, socketOptions, connectionBalancer } = envoy.listener;
  const fingerprints = (['ja3', 'ja4'] as const).filter((each) => tls.fingerprint?.[each] === true);
  return {
    name,
    address,
    port,
    hasProxyProtocol: useProxyProtocol,
    tlsInspection: isTls ? { fingerprints } : undefined,
    socket: { typeOfService: socketOptions?.tos, trafficClass: socketOptions?.trafficClass },
    isBalanced: connectionBalancer === 'exact',
    bufferLimitBytes: envoy.listener.perConnectionBufferLimitBytes,
    maxConnectionsPerEvent: envoy.listener.maxConnectionsToAcceptPerSocketEvent,
    origin,
  };
}

/** The configuration in force, whatever object, file or flag it comes from. */
export function configuredAt(path: string): Origin {
  return { kind: 'SesameConfiguration', namespace: '', name: '', path };
}

const ENFORCED_HEALTH = 'health-om-enforced';

/** Statistics and readiness for probes and scrapers, and the read-only admin pages on loopback. */
export function ownListeners(settings: RoutingSettings): Resource[] {
  const tls = metricsTls(settings);
  return [...(tls ? metricsSecrets(tls).map(secretResource) : []), ...plannedListeners(settings).map(listenerResource)];
}

function metricsTls({ envoy }: RoutingSettings): TlsFileSettings | undefined {
  const { tls } = envoy.metrics;
  return (tls?.certFile ?? '') === '' ? undefined : tls;
}

function plannedListeners(settings: RoutingSettings): ListenerModel[] {
  const { metrics, health, omEnforcedHealth, network } = settings.envoy;
  const tls = metricsTls(settings);
  const isOne = metrics.address === health.address && metrics.port === health.port && !tls;
  const listeners: ListenerModel[] = [];
  const add = (name: string, address: string, port: number, pages: readonly Page[], metricsTls?: DownstreamTls) =>
    listeners.push(ownListener({ name, address, port, path: `envoy.${name}` }, pages, metricsTls));
  if (isOne) add('stats-health', metrics.address, metrics.port, [READY, ...STATS]);
  else {
    add('stats', metrics.address, metrics.port, STATS, tls && metricsTermination(tls));
    add('health', health.address, health.port, [READY]);
  }
  if (omEnforcedHealth?.port) add(ENFORCED_HEALTH, omEnforcedHealth.address, omEnforcedHealth.port, [READY]);
  if (network.adminPort > 0) add('envoy-admin', '127.0.0.1', network.adminPort, ADMIN_PATHS.map(page));
  return listeners;
}

const page = (path: string): Page => ({ path, method: 'GET' });
const READY = page('/ready');
const STATS = [page('/stats'), page('/stats/prometheus')];
const ADMIN_PATHS = [
  '/certs',
  '/clusters',
  '/listeners',
  '/config_dump',
  '/memory',
  '/ready',
  '/runtime',
  '/server_info',
  '/stats',
  '/stats/prometheus',
  '/stats/recentlookups',
];

function ownListener(
  { name, address, port, path }: Pick<Listener, 'name' | 'address' | 'port'> & { readonly path: string },
  pages: readonly Page[],
  tls: DownstreamTls | undefined,
): ListenerModel {
  const origin = configuredAt(path);
  return {
    name,
    address,
    port,
    hasProxyProtocol: false,
    tlsInspection: undefined,
    // Scrapers that went away without a word are noticed by keep-alive.
    socket: { typeOfService: undefined, trafficClass: undefined },
    // Probes and scrapers are served at the limit too. The one that enforces it is the exception.
    ignoresConnectionLimit: name !== ENFORCED_HEALTH,
    origin,
    chains: [{ fqdn: undefined, statPrefix: name, traffic: { kind: 'pages', pages }, tls, origins: [origin] }],
  };
}

const METRICS_CERTIFICATE = 'metrics-tls-certificate';
const METRICS_CA = 'metrics-ca-certificate';

/** Certificates for statistics are files of Envoy's own pod. */
function metricsSecrets({ caFile = '', certFile = '', keyFile = '' }: TlsFileSettings): NamedSecret[] {
  const origin = configuredAt('envoy.metrics.tls');
  const certificate: NamedSecret = {
    kind: 'certificate',
    name: METRICS_CERTIFICATE,
    chain: { file: certFile },
    key: { file: keyFile },
    origin,
  };
  if (caFile === '') return [certificate];
  return [certificate, { kind: 'authorities', name: METRICS_CA, certificates: { file: caFile }, origin }];
}

function metricsTermination({ caFile = '' }: TlsFileSettings): DownstreamTls {
  return {
    certificates: [METRICS_CERTIFICATE],
    minimumVersion: '1.3',
    maximumVersion: undefined,
    clientValidation: caFile === '' ? undefined : { caSecret: METRICS_CA, acceptsUntrusted: false },
    requiresClientCertificate: true,
  };
}

/** The runtime layer: limits of regular expressions and the additions of the configuration. */
export function runtimeResource(settings: RoutingSettings): Resource {
  const layer = runtimeLayer(settings);
  return createResource({ type: 'rtds', name: RUNTIME, value: { name: RUNTIME, layer }, model: layer });
}

const RUNTIME = 'dynamic';

function runtimeLayer(settings: RoutingSettings): { [key: string]: Struct[string] } {
  const { maxRequestsPerIOCycle, maxConnectionsPerListener } = settings.envoy.listener;
  const layer: { [key: string]: Struct[string] } = {
    ...settings.envoy.runtimeSettings,
    're2.max_program_size.error_level': 1_048_576,
    're2.max_program_size.warn_level': 1_000,
  };
  if (maxRequestsPerIOCycle !== undefined) layer['http.max_requests_per_io_cycle'] = maxRequestsPerIOCycle;
  if (maxConnectionsPerListener !== undefined)
    for (const listener of [HTTP_LISTENER, HTTPS_LISTENER])
      layer[`envoy.resource_limits.listener.${listener}.connection_limit`] = maxConnectionsPerListener;
  return layer;
}
