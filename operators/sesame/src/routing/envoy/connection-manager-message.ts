// From the HTTP traffic of a filter chain to Envoy's HTTP connection manager.
import { CONFIG_SOURCE, type Envoy, hasFields, typed } from '../../envoy/index.ts';
import type { HttpOptions, TraceTag, Tracing } from '../../model/http-options.ts';
import type { FilterChain, HttpTraffic } from '../../model/listener.ts';
import { accessLogMessage } from './access-log-message.ts';
import { forwardedCertificateMessage } from './access-message.ts';
import { httpFilters } from './http-filters.ts';

export function connectionManagerMessage(
  traffic: HttpTraffic,
  { statPrefix, accessLog }: Pick<FilterChain, 'statPrefix' | 'accessLog'>,
): Envoy.NetworkFilter {
  const { options, routes, forwardedCertificate, allowsWebsockets, isHttp3 = false } = traffic;
  const common: Envoy.CoreHttpProtocolOptions = {
    idle_timeout: options.idleTimeout,
    max_connection_duration: options.maxConnectionDuration,
    max_requests_per_connection: options.maxRequestsPerConnection,
  };
  const manager = typed('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    codec_type: isHttp3 ? 'HTTP3' : CODECS[options.version ?? 'any'],
    stat_prefix: statPrefix,
    rds: { route_config_name: routes, config_source: CONFIG_SOURCE },
    http_filters: httpFilters(traffic),
    common_http_protocol_options: hasFields(common) ? common : undefined,
    http_protocol_options: { accept_http_10: true, allow_chunked_length: options.allowsChunkedLength },
    http2_protocol_options:
      options.maxConcurrentStreams !== undefined ? { max_concurrent_streams: options.maxConcurrentStreams } : undefined,
    use_remote_address: true,
    normalize_path: true,
    merge_slashes: options.mergesSlashes,
    preserve_external_request_id: true,
    server_header_transformation: SERVER_HEADERS[options.serverHeader],
    xff_num_trusted_hops: options.trustedHops > 0 ? options.trustedHops : undefined,
    strip_trailing_host_dot: options.stripsTrailingHostDot ? true : undefined,
    request_timeout: options.requestTimeout,
    stream_idle_timeout: options.streamIdleTimeout,
    drain_timeout: options.drainTimeout,
    delayed_close_timeout: options.delayedCloseTimeout,
    access_log: accessLog && accessLogMessage(accessLog),
    forward_client_cert_details: forwardedCertificate ? 'SANITIZE_SET' : undefined,
    set_current_client_cert_details: forwardedCertificate && forwardedCertificateMessage(forwardedCertificate),
    upgrade_configs: allowsWebsockets === true ? [{ upgrade_type: 'websocket' }] : undefined,
    tracing: options.tracing && tracingMessage(options.tracing),
  });
  return { name: 'envoy.filters.network.http_connection_manager', typed_config: manager };
}

const CODECS = { any: 'AUTO', 'HTTP/1.1': 'HTTP1', 'HTTP/2': 'HTTP2' } as const;

const SERVER_HEADERS: Readonly<
  Record<HttpOptions['serverHeader'], Envoy.HttpConnectionManagerServerHeaderTransformation>
> = {
  overwrite: 'OVERWRITE',
  append_if_absent: 'APPEND_IF_ABSENT',
  pass_through: 'PASS_THROUGH',
};

function tracingMessage(tracing: Tracing): NonNullable<Envoy.HttpConnectionManager['tracing']> {
  const { cluster, serviceName, sampling, maxPathLength, tags } = tracing;
  const provider = typed('envoy.config.trace.v3.OpenTelemetryConfig', {
    service_name: serviceName,
    grpc_service: { envoy_grpc: { cluster_name: cluster, authority: cluster.replaceAll('/', '.') } },
  });
  return {
    overall_sampling: { value: sampling.overall },
    client_sampling: { value: sampling.client },
    random_sampling: { value: sampling.random },
    max_path_tag_length: maxPathLength,
    custom_tags: tags.map(tagMessage),
    provider: { name: 'envoy.tracers.opentelemetry', typed_config: provider },
  };
}

function tagMessage({ name: tag, kind, value }: TraceTag): Envoy.CustomTag {
  switch (kind) {
    case 'literal':
      return { tag, literal: { value } };
    case 'header':
      return { tag, request_header: { name: value } };
    case 'environment':
      return { tag, environment: { name: value } };
  }
}
