// From a listener of the model, and from its filter chains, to Envoy's.
import { type Choice, type Composed, type Envoy, typed } from '../../envoy/index.ts';
import type {
  FilterChain,
  Listener,
  Page,
  PagesTraffic,
  SocketSettings,
  StreamDestination,
  StreamTraffic,
  TlsInspection,
} from '../../model/listener.ts';
import { compareBytes } from '../conditions.ts';
import { accessLogMessage } from './access-log-message.ts';
import { downstreamTls, quicSocket } from './access-message.ts';
import { connectionManagerMessage } from './connection-manager-message.ts';

export const FILTER_CHAIN = 'envoy.config.listener.v3.FilterChain';

export function listenerMessage(listener: Listener, chains: Composed<typeof FILTER_CHAIN>): Envoy.Listener {
  const { name, address, port, socket, isBalanced, isQuic = false } = listener;
  const filters = [
    ...(listener.hasProxyProtocol ? [PROXY_PROTOCOL] : []),
    ...(listener.tlsInspection ? [tlsInspector(listener.tlsInspection)] : []),
  ];
  return {
    name,
    address: {
      socket_address: {
        protocol: isQuic ? 'UDP' : undefined,
        address,
        port_value: port,
        ipv4_compat: address === '::' ? true : undefined,
      },
    },
    udp_listener_config: isQuic ? { quic_options: {}, downstream_socket_config: { prefer_gro: true } } : undefined,
    filter_chains: chains,
    listener_filters: filters.length > 0 ? filters : undefined,
    socket_options: socket && socketOptions(socket, address),
    connection_balance_config: isBalanced === true ? { exact_balance: {} } : undefined,
    per_connection_buffer_limit_bytes: listener.bufferLimitBytes,
    max_connections_to_accept_per_socket_event: listener.maxConnectionsPerEvent,
    ignore_global_conn_limit: listener.ignoresConnectionLimit,
  };
}

const PROXY_PROTOCOL: Envoy.ListenerFilter = {
  name: 'envoy.filters.listener.proxy_protocol',
  typed_config: typed('envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol'),
};

function tlsInspector({ fingerprints }: TlsInspection): Envoy.ListenerFilter {
  return {
    name: 'envoy.filters.listener.tls_inspector',
    typed_config: typed('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector', {
      enable_ja3_fingerprinting: fingerprints.includes('ja3') ? true : undefined,
      enable_ja4_fingerprinting: fingerprints.includes('ja4') ? true : undefined,
    }),
  };
}

/** Level, name and value of each. */
const SOCKET = { keepalive: [1, 9, 1], idle: [6, 4, 45], interval: [6, 5, 5], probes: [6, 6, 9] } as const;

function socketOptions({ typeOfService, trafficClass }: SocketSettings, address: string): Envoy.SocketOption[] {
  const option = (
    description: string,
    [level, name, value]: readonly [number, number, number],
  ): Envoy.SocketOption => ({ description, level, name, int_value: value, state: 'STATE_LISTENING' });
  return [
    option('Enable TCP keep-alive', SOCKET.keepalive),
    option('TCP keep-alive initial idle time', SOCKET.idle),
    option('TCP keep-alive time between probes', SOCKET.interval),
    option('TCP keep-alive probe count', SOCKET.probes),
    ...(typeOfService ? [option('Set IPv4 TOS field', [0, 1, typeOfService])] : []),
    ...(trafficClass && address.includes(':') ? [option('Set IPv6 IPV6_TCLASS field', [41, 67, trafficClass])] : []),
  ];
}

export function chainMessage(chain: FilterChain): Envoy.FilterChain {
  const { fqdn, name, tls, traffic } = chain;
  const isHttp3 = traffic.kind === 'http' && traffic.isHttp3 === true;
  return {
    filter_chain_match:
      fqdn === undefined ? undefined : fqdn === '*' ? { transport_protocol: 'tls' } : { server_names: [fqdn] },
    filters: [trafficMessage(chain)],
    transport_socket: tls && (isHttp3 ? quicSocket(tls) : downstreamTls(tls)),
    name,
  };
}

function trafficMessage(chain: FilterChain): Envoy.NetworkFilter {
  const { traffic } = chain;
  switch (traffic.kind) {
    case 'http':
      return connectionManagerMessage(traffic, chain);
    case 'stream':
      return streamMessage(traffic, chain);
    case 'pages':
      return pagesMessage(traffic, chain);
  }
}

/** Longer than any other idle timeout on the way, so that this one is never the first. */
const TCP_IDLE_TIMEOUT = '9001s';

/** Clusters without weight get nothing, unless none has any: then all get the same. */
export function streamMessage(
  { destinations }: StreamTraffic,
  { statPrefix, accessLog }: Pick<FilterChain, 'statPrefix' | 'accessLog'>,
): Envoy.NetworkFilter {
  const weighted = destinations.filter(({ weight }) => weight > 0);
  const used = weighted.length > 0 ? weighted : destinations.map((each) => ({ ...each, weight: 1 }));
  return {
    name: 'envoy.filters.network.tcp_proxy',
    typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: statPrefix,
      ...streamTarget(used),
      idle_timeout: TCP_IDLE_TIMEOUT,
      access_log: accessLog && accessLogMessage(accessLog),
    }),
  };
}

function streamTarget(
  destinations: readonly StreamDestination[],
): Choice<Envoy.TcpProxy, 'cluster' | 'weighted_clusters'> {
  const [only, ...more] = destinations;
  if (only && more.length === 0) return { cluster: only.cluster.name };
  const clusters = destinations
    .map(({ cluster, weight }) => ({ name: cluster.name, weight }))
    .sort((left, right) => compareBytes(left.name, right.name) || left.weight - right.weight);
  return { weighted_clusters: { clusters } };
}

/** A cluster of Envoy's bootstrap. */
const ADMIN_CLUSTER = 'envoy-admin';

function pagesMessage({ pages }: PagesTraffic, { statPrefix }: Pick<FilterChain, 'statPrefix'>): Envoy.NetworkFilter {
  const manager = typed('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: statPrefix,
    route_config: {
      name: statPrefix,
      virtual_hosts: [{ name: 'backend', domains: ['*'], routes: pages.map(pageMessage) }],
    },
    http_filters: [{ name: 'router', typed_config: typed('envoy.extensions.filters.http.router.v3.Router') }],
    normalize_path: true,
  });
  return { name: 'envoy.filters.network.http_connection_manager', typed_config: manager };
}

function pageMessage({ path, method }: Page): Envoy.Route {
  return {
    match: {
      path,
      headers: method === undefined ? undefined : [{ name: ':method', string_match: { exact: method } }],
    },
    route: { cluster: ADMIN_CLUSTER },
  };
}
