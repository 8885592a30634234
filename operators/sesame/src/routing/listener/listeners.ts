// Listeners: the two for traffic, and those for Envoy's own statistics, readiness and admin pages.
import { CONFIG_SOURCE, type Envoy, type FragmentChunk, type Struct, typed } from '../../envoy/index.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import type { RoutingSettings, TlsFileSettings } from '../settings.ts';
import { connectionManager } from './connection-manager.ts';
import { type ChainFragment, type FILTER_CHAIN, HTTPS_LISTENER } from './filter-chain.ts';
import { HTTP_ROUTES } from './virtual-host.ts';

export const HTTP_LISTENER = 'ingress_http';

export function httpListener(settings: RoutingSettings, authorization: Envoy.Any | undefined): Resource {
  const { http } = settings.envoy;
  const manager = connectionManager(
    { routeName: HTTP_ROUTES, statPrefix: HTTP_LISTENER, accessLogPath: http.accessLog, authorization },
    settings,
  );
  const value: Envoy.Listener = {
    name: HTTP_LISTENER,
    ...listenerAddress(http.address, http.port),
    filter_chains: [{ filters: [manager] }],
    ...listenerFilters(settings, false),
    ...listenerOptions(settings, http.address),
  };
  return createResource({ type: 'lds', name: HTTP_LISTENER, value });
}

/** Composed of the chains of all hosts with TLS, in the order of their names. */
export function httpsListener(
  settings: RoutingSettings,
  chains: readonly FragmentChunk<typeof FILTER_CHAIN>[],
  contentHash: string,
  requires: readonly ResourceKey[],
): Resource {
  const { https } = settings.envoy;
  return createResource({
    type: 'lds',
    name: HTTPS_LISTENER,
    contentHash,
    requires,
    composition: {
      chunks: chains,
      of: (others: readonly FragmentChunk<typeof FILTER_CHAIN>[], hash) =>
        httpsListener(settings, others, hash, requires),
      nameOf: ({ value }: ChainFragment) => value.name ?? '',
    },
    value: () => ({
      name: HTTPS_LISTENER,
      ...listenerAddress(https.address, https.port),
      filter_chains: chains,
      ...listenerFilters(settings, true),
      ...listenerOptions(settings, https.address),
    }),
  });
}

export function listenerAddress(address: string, port: number): Pick<Envoy.Listener, 'address'> {
  const isV6Any = address === '::';
  return { address: { socket_address: { address, port_value: port, ipv4_compat: isV6Any ? true : undefined } } };
}

export function listenerFilters({ envoy }: RoutingSettings, isTls: boolean): Pick<Envoy.Listener, 'listener_filters'> {
  const { useProxyProtocol, tls } = envoy.listener;
  const filters = [
    ...(useProxyProtocol
      ? [
          {
            name: 'envoy.filters.listener.proxy_protocol',
            typed_config: typed('envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol'),
          },
        ]
      : []),
    ...(isTls
      ? [
          {
            name: 'envoy.filters.listener.tls_inspector',
            typed_config: typed('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector', {
              enable_ja3_fingerprinting: tls.fingerprint?.ja3 === true ? true : undefined,
              enable_ja4_fingerprinting: tls.fingerprint?.ja4 === true ? true : undefined,
            }),
          },
        ]
      : []),
  ];
  return filters.length > 0 ? { listener_filters: filters } : {};
}

const SOCKET = { keepalive: [1, 9, 1], idle: [6, 4, 45], interval: [6, 5, 5], probes: [6, 6, 9] } as const;

type ListenerOptions = Pick<
  Envoy.Listener,
  | 'socket_options'
  | 'connection_balance_config'
  | 'per_connection_buffer_limit_bytes'
  | 'max_connections_to_accept_per_socket_event'
>;

export function listenerOptions({ envoy }: RoutingSettings, address: string): ListenerOptions {
  const { connectionBalancer, perConnectionBufferLimitBytes, maxConnectionsToAcceptPerSocketEvent, socketOptions } =
    envoy.listener;
  const option = (
    description: string,
    [level, name, value]: readonly [number, number, number],
  ): Envoy.SocketOption => ({
    description,
    level,
    name,
    int_value: value,
    state: 'STATE_LISTENING',
  });
  const options = [
    option('Enable TCP keep-alive', SOCKET.keepalive),
    option('TCP keep-alive initial idle time', SOCKET.idle),
    option('TCP keep-alive time between probes', SOCKET.interval),
    option('TCP keep-alive probe count', SOCKET.probes),
    ...(socketOptions?.tos ? [option('Set IPv4 TOS field', [0, 1, socketOptions.tos])] : []),
    ...(socketOptions?.trafficClass && address.includes(':')
      ? [option('Set IPv6 IPV6_TCLASS field', [41, 67, socketOptions.trafficClass])]
      : []),
  ];
  return {
    socket_options: options,
    connection_balance_config: connectionBalancer === 'exact' ? { exact_balance: {} } : undefined,
    per_connection_buffer_limit_bytes: perConnectionBufferLimitBytes,
    max_connections_to_accept_per_socket_event: maxConnectionsToAcceptPerSocketEvent,
  };
}

const ENFORCED_HEALTH = 'health-om-enforced';

/** Clusters of Envoy's bootstrap. */
const STATS_CLUSTER = 'envoy-admin';

/** Statistics and readiness for probes and scrapers, and the read-only admin pages on loopback. */
export function ownListeners(settings: RoutingSettings): Resource[] {
  const { metrics, health, omEnforcedHealth, network } = settings.envoy;
  const hasTls = (metrics.tls?.certFile ?? '') !== '';
  const isOne = metrics.address === health.address && metrics.port === health.port && !hasTls;
  const listeners: Resource[] = hasTls ? metricsSecrets(metrics.tls ?? {}) : [];
  const add = (name: string, address: string, port: number, paths: readonly Envoy.Route[], transport: Transport = {}) =>
    listeners.push(ownListener(name, address, port, paths, transport));
  if (isOne) add('stats-health', metrics.address, metrics.port, [READY, STATS]);
  else {
    add('stats', metrics.address, metrics.port, [STATS], hasTls ? metricsTransport(metrics.tls ?? {}) : {});
    add('health', health.address, health.port, [READY]);
  }
  if (omEnforcedHealth?.port) add(ENFORCED_HEALTH, omEnforcedHealth.address, omEnforcedHealth.port, [READY]);
  if (network.adminPort > 0)
    add(
      'envoy-admin',
      '127.0.0.1',
      network.adminPort,
      ADMIN_PATHS.map((path) => exactPath(path)),
    );
  return listeners;
}

const READY: Envoy.Route = { match: { path: '/ready' }, route: { cluster: STATS_CLUSTER } };
const STATS: Envoy.Route = {
  match: { path: '/stats' },
  route: { cluster: STATS_CLUSTER, prefix_rewrite: '/stats/prometheus' },
};
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

function exactPath(path: string): Envoy.Route {
  return {
    match: { path, headers: [{ name: ':method', string_match: { exact: 'GET' } }] },
    route: { cluster: STATS_CLUSTER },
  };
}

type Transport = Pick<Envoy.FilterChain, 'transport_socket'>;

function ownListener(
  name: string,
  address: string,
  port: number,
  routes: readonly Envoy.Route[],
  transport: Transport,
): Resource {
  const manager = typed('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: name,
    route_config: { name, virtual_hosts: [{ name: 'backend', domains: ['*'], routes }] },
    http_filters: [{ name: 'router', typed_config: typed('envoy.extensions.filters.http.router.v3.Router') }],
    normalize_path: true,
  });
  const value: Envoy.Listener = {
    name,
    ...listenerAddress(address, port),
    filter_chains: [
      { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }], ...transport },
    ],
    socket_options: [],
    // Probes and scrapers are served at the limit too. The one that enforces it is the exception.
    ignore_global_conn_limit: name !== ENFORCED_HEALTH ? true : undefined,
  };
  return createResource({ type: 'lds', name, value });
}

const METRICS_CERTIFICATE = 'metrics-tls-certificate';
const METRICS_CA = 'metrics-ca-certificate';

/** Certificates for statistics are files of Envoy's own pod. */
function metricsSecrets({ caFile = '', certFile = '', keyFile = '' }: TlsFileSettings): Resource[] {
  const secret = (name: string, value: Envoy.Secret) =>
    createResource({ type: 'sds', name, value: { name, ...value } });
  const certificate = { certificate_chain: { filename: certFile }, private_key: { filename: keyFile } };
  return [
    secret(METRICS_CERTIFICATE, { tls_certificate: certificate }),
    ...(caFile === '' ? [] : [secret(METRICS_CA, { validation_context: { trusted_ca: { filename: caFile } } })]),
  ];
}

function metricsTransport({ caFile = '' }: TlsFileSettings): Transport {
  const source = (name: string) => ({ name, sds_config: CONFIG_SOURCE });
  const context: Envoy.DownstreamTlsContext = {
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_3' },
      tls_certificate_sds_secret_configs: [source(METRICS_CERTIFICATE)],
      validation_context_sds_secret_config: caFile !== '' ? source(METRICS_CA) : undefined,
    },
    require_client_certificate: caFile !== '' ? true : undefined,
  };
  return {
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: typed('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', context),
    },
  };
}

/** The runtime layer: limits of regular expressions and what the configuration adds. */
export function runtimeResource(settings: RoutingSettings): Resource {
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
  return createResource({ type: 'rtds', name: 'dynamic', value: { name: 'dynamic', layer } });
}
