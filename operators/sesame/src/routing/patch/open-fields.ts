// The values that a patch may change. Every other value stays as it was generated: names, addresses, TLS, the services that requests go to,
// and the filters that decide who may send requests belong to the objects of their owners. A value that is missing here is refused, so that a
// new field of Envoy is closed until it is looked at.

/**
 * `any`: every value of the field. `within`: only values below it whose message has open fields itself, and lists keep their items.
 * `filters`: the same, and filters that only refuse requests may be added.
 */
export type Openness = 'any' | 'within' | 'filters';

const HTTP = 'envoy.extensions.filters.http';
const NETWORK = 'envoy.extensions.filters.network';
const UPSTREAM = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

const any = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'any' as const]));
const within = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'within' as const]));

const HTTP2 = any(
  'hpack_table_size',
  'max_concurrent_streams',
  'initial_stream_window_size',
  'initial_connection_window_size',
  'max_outbound_frames',
  'max_outbound_control_frames',
  'max_consecutive_inbound_frames_with_empty_payload',
  'max_inbound_priority_frames_per_stream',
  'max_inbound_window_update_frames_per_data_frame_sent',
  'connection_keepalive',
  'max_header_field_size_kb',
  'enable_huffman_encoding',
  'stream_reset_burst',
  'stream_reset_rate',
);

/** The open fields of each message. */
export const OPEN_FIELDS: Readonly<Record<string, Readonly<Record<string, Openness>>>> = {
  'envoy.config.cluster.v3.Cluster': {
    ...any(
      'connect_timeout',
      'per_connection_buffer_limit_bytes',
      'per_connection_buffer_high_watermark_timeout',
      'ring_hash_lb_config',
      'maglev_lb_config',
      'least_request_lb_config',
      'round_robin_lb_config',
      'common_lb_config',
      'circuit_breakers',
      'outlier_detection',
      'dns_lookup_family',
      'wait_for_warm_on_init',
      'upstream_connection_options',
      'close_connections_on_host_health_failure',
      'ignore_health_on_host_removal',
      'track_cluster_stats',
      'preconnect_policy',
      'connection_pool_per_downstream_connection',
    ),
    ...within('typed_extension_protocol_options'),
  },
  [UPSTREAM]: within('common_http_protocol_options', 'explicit_http_config'),
  [`${UPSTREAM}.ExplicitHttpConfig`]: within('http_protocol_options', 'http2_protocol_options'),
  'envoy.config.core.v3.HttpProtocolOptions': any(
    'idle_timeout',
    'max_connection_duration',
    'max_headers_count',
    'max_response_headers_kb',
    'max_stream_duration',
    'headers_with_underscores_action',
    'max_requests_per_connection',
  ),
  'envoy.config.core.v3.Http1ProtocolOptions': any('enable_trailers', 'default_host_for_http_10'),
  'envoy.config.core.v3.Http2ProtocolOptions': HTTP2,
  'envoy.config.core.v3.Http3ProtocolOptions': any('quic_protocol_options'),
  'envoy.config.listener.v3.Listener': {
    ...any(
      'per_connection_buffer_limit_bytes',
      'per_connection_buffer_high_watermark_timeout',
      'listener_filters_timeout',
      'socket_options',
      'tcp_fast_open_queue_length',
      'tcp_backlog_size',
      'max_connections_to_accept_per_socket_event',
      'connection_balance_config',
      'enable_reuse_port',
      'tcp_keepalive',
    ),
    ...within('filter_chains'),
  },
  'envoy.config.listener.v3.FilterChain': {
    ...any('transport_socket_connect_timeout'),
    ...within('filters'),
  },
  'envoy.config.listener.v3.Filter': within('typed_config'),
  [`${NETWORK}.tcp_proxy.v3.TcpProxy`]: any(
    'idle_timeout',
    'downstream_idle_timeout',
    'upstream_idle_timeout',
    'max_connect_attempts',
    'backoff_options',
    'max_downstream_connection_duration',
    'max_downstream_connection_duration_jitter_percentage',
  ),
  [`${NETWORK}.http_connection_manager.v3.HttpConnectionManager`]: {
    ...any(
      'http1_safe_max_connection_duration',
      'server_name',
      'server_header_transformation',
      'max_request_headers_kb',
      'stream_idle_timeout',
      'stream_flush_timeout',
      'request_timeout',
      'request_headers_timeout',
      'drain_timeout',
      'drain_timeout_jitter',
      'delayed_close_timeout',
      'via',
      'generate_request_id',
      'preserve_external_request_id',
      'always_set_request_id_in_response',
      'proxy_100_continue',
      'path_with_escaped_slashes_action',
      'record_route_resolution_stats',
    ),
    ...within(
      'common_http_protocol_options',
      'http_protocol_options',
      'http2_protocol_options',
      'http3_protocol_options',
    ),
    http_filters: 'filters',
  },
  [`${NETWORK}.http_connection_manager.v3.HttpFilter`]: within('typed_config'),
  [`${HTTP}.router.v3.Router`]: any(
    'suppress_envoy_headers',
    'respect_expected_rq_timeout',
    'suppress_grpc_request_failure_code_stats',
  ),
  [`${HTTP}.compressor.v3.Compressor`]: any('compressor_library', 'response_direction_config', 'choose_first'),
  'envoy.config.route.v3.VirtualHost': {
    ...any(
      'include_request_attempt_count',
      'include_attempt_count_in_response',
      'retry_policy',
      'hedge_policy',
      'include_is_timeout_retry_header',
      'request_body_buffer_limit',
    ),
    ...within('routes'),
  },
  'envoy.config.route.v3.Route': {
    ...any('stat_prefix', 'request_body_buffer_limit'),
    ...within('route'),
  },
  'envoy.config.route.v3.RouteAction': any(
    'timeout',
    'idle_timeout',
    'flush_timeout',
    'retry_policy',
    'priority',
    'hash_policy',
    'hedge_policy',
    'max_stream_duration',
  ),
};

/** Filters that may be added: they refuse requests, and let none pass that would not have passed before. */
export const ADDED_FILTERS: ReadonlySet<string> = new Set([
  `${HTTP}.local_ratelimit.v3.LocalRateLimit`,
  `${HTTP}.rbac.v3.RBAC`,
]);

/** Messages that name files, secrets or servers. No patch has them in a value, whatever field it is for. */
export const SEALED: ReadonlySet<string> = new Set([
  'envoy.config.core.v3.DataSource',
  'envoy.config.core.v3.HttpUri',
  'envoy.config.core.v3.ConfigSource',
  'envoy.config.core.v3.ApiConfigSource',
  'envoy.config.core.v3.ExtensionConfigSource',
  'envoy.config.core.v3.GrpcService',
  'envoy.config.core.v3.TransportSocket',
  'envoy.config.core.v3.Address',
  'envoy.config.core.v3.BindConfig',
  'envoy.config.accesslog.v3.AccessLog',
  'envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig',
]);
