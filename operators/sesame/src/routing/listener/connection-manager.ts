// The HTTP connection manager of a filter chain: protocol options, timeouts, and the filters in their order.
import { CONFIG_SOURCE, type Composed, type Envoy, Fragment, hasFields, typed } from '../../envoy/index.ts';
import { extensionClusterName } from '../policy/authorization.ts';
import { FILTER } from '../policy/filter-names.ts';
import type { RoutingSettings } from '../settings.ts';
import { settingTimeout } from '../timeouts.ts';
import { accessLog } from './access-log.ts';

export interface ManagerOptions {
  /** Name of the route configuration, and by default of the statistics. */
  readonly routeName: string;
  readonly statPrefix: string;
  readonly accessLogPath: string;
  readonly jwt?: Envoy.Any | undefined;
  readonly authorization?: Envoy.Any | undefined;
  readonly forwardedDetails?: Envoy.HttpConnectionManagerSetCurrentClientCertDetails | undefined;
  /** Gateways allow upgrades everywhere. */
  readonly allowsWebsockets?: boolean;
}

const HTTP = 'envoy.extensions.filters.http';

export function connectionManager(options: ManagerOptions, settings: RoutingSettings): Envoy.NetworkFilter {
  const { envoy } = settings;
  const { listener, network, timeouts } = envoy;
  const maximum = settingTimeout(timeouts.maxConnectionDuration);
  const common: Envoy.CoreHttpProtocolOptions = {
    idle_timeout: settingTimeout(timeouts.connectionIdleTimeout),
    // A zero would not switch it off; it is left out then.
    max_connection_duration: maximum === '0s' ? undefined : maximum,
    max_requests_per_connection: listener.maxRequestsPerConnection,
  };
  const manager = typed('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    codec_type: codecType(envoy.defaultHTTPVersions),
    stat_prefix: options.statPrefix,
    rds: { route_config_name: options.routeName, config_source: CONFIG_SOURCE },
    http_filters: httpFilters(options, sharedFilters(settings)),
    common_http_protocol_options: hasFields(common) ? common : undefined,
    http_protocol_options: { accept_http_10: true, allow_chunked_length: !listener.disableAllowChunkedLength },
    http2_protocol_options:
      listener.httpMaxConcurrentStreams !== undefined
        ? { max_concurrent_streams: listener.httpMaxConcurrentStreams }
        : undefined,
    use_remote_address: true,
    normalize_path: true,
    merge_slashes: !listener.disableMergeSlashes,
    preserve_external_request_id: true,
    server_header_transformation: SERVER_HEADERS[listener.serverHeaderTransformation],
    xff_num_trusted_hops: network.numTrustedHops > 0 ? network.numTrustedHops : undefined,
    strip_trailing_host_dot: network.stripTrailingHostDot ? true : undefined,
    request_timeout: settingTimeout(timeouts.requestTimeout),
    stream_idle_timeout: settingTimeout(timeouts.streamIdleTimeout),
    drain_timeout: settingTimeout(timeouts.connectionShutdownGracePeriod),
    delayed_close_timeout: settingTimeout(timeouts.delayedCloseTimeout),
    ...accessLog(options.accessLogPath, settings),
    forward_client_cert_details: options.forwardedDetails ? 'SANITIZE_SET' : undefined,
    set_current_client_cert_details: options.forwardedDetails,
    upgrade_configs: options.allowsWebsockets === true ? [{ upgrade_type: 'websocket' }] : undefined,
    ...tracing(settings),
  });
  return { name: 'envoy.filters.network.http_connection_manager', typed_config: manager };
}

const SERVER_HEADERS: Readonly<Record<string, Envoy.HttpConnectionManagerServerHeaderTransformation>> = {
  overwrite: 'OVERWRITE',
  append_if_absent: 'APPEND_IF_ABSENT',
  pass_through: 'PASS_THROUGH',
};

const HTTP_FILTER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter';

type SharedFilter = Fragment<typeof HTTP_FILTER>;

interface SharedFilters {
  /** Before those that a host may add. */
  readonly first: readonly SharedFilter[];
  readonly last: readonly SharedFilter[];
  /** Of a host that adds none. */
  readonly all: readonly SharedFilter[];
}

// Thousands of hosts have the same filters: they are built and encoded once for a configuration.
const filtersOf = new WeakMap<RoutingSettings, SharedFilters>();

function sharedFilters(settings: RoutingSettings): SharedFilters {
  let found = filtersOf.get(settings);
  if (!found) {
    const fragment = (filter: Envoy.HttpFilter) => new Fragment(HTTP_FILTER, filter, true);
    const limits = rateLimitFilter(settings);
    const first = firstFilters(settings).map(fragment);
    const last = [...(limits ? [limits] : []), ROUTER].map(fragment);
    found = { first, last, all: [...first, ...last] };
    filtersOf.set(settings, found);
  }
  return found;
}

function httpFilters(
  { jwt, authorization }: ManagerOptions,
  { first, last, all }: SharedFilters,
): Composed<typeof HTTP_FILTER> {
  if (!jwt && !authorization) return all;
  return [
    ...first,
    ...(jwt ? [{ name: FILTER.jwt, typed_config: jwt }] : []),
    ...(authorization ? [{ name: FILTER.authorization, typed_config: authorization }] : []),
    ...last,
  ];
}

const ROUTER: Envoy.HttpFilter = { name: FILTER.router, typed_config: typed(`${HTTP}.router.v3.Router`) };

function firstFilters(settings: RoutingSettings): Envoy.HttpFilter[] {
  return [
    ...compressor(settings.envoy.listener.compression.algorithm),
    { name: FILTER.grpcWeb, typed_config: typed(`${HTTP}.grpc_web.v3.GrpcWeb`) },
    {
      name: FILTER.grpcStats,
      typed_config: typed(`${HTTP}.grpc_stats.v3.FilterConfig`, {
        emit_filter_state: true,
        enable_upstream_stats: true,
      }),
    },
    { name: FILTER.cors, typed_config: typed(`${HTTP}.cors.v3.Cors`) },
    // Without a bucket it limits nothing: hosts and routes bring theirs.
    {
      name: FILTER.localRateLimit,
      typed_config: typed(`${HTTP}.local_ratelimit.v3.LocalRateLimit`, { stat_prefix: 'http' }),
    },
    // Without a script it does nothing and costs no interpreter: routes that rewrite cookies bring theirs.
    { name: FILTER.lua, typed_config: typed(`${HTTP}.lua.v3.Lua`) },
    { name: FILTER.rbac, typed_config: typed(`${HTTP}.rbac.v3.RBAC`) },
  ];
}

/** The types that Contour compresses: Envoy's own list and those of gRPC-Web. */
const COMPRESSED_TYPES = [
  'text/html',
  'text/plain',
  'text/css',
  'application/javascript',
  'application/x-javascript',
  'text/javascript',
  'text/x-javascript',
  'text/ecmascript',
  'text/js',
  'text/jscript',
  'text/x-js',
  'application/ecmascript',
  'application/x-json',
  'application/xml',
  'application/json',
  'image/svg+xml',
  'text/xml',
  'application/xhtml+xml',
  'application/grpc-web',
  'application/grpc-web+proto',
  'application/grpc-web+json',
  'application/grpc-web+thrift',
  'application/grpc-web-text',
  'application/grpc-web-text+proto',
  'application/grpc-web-text+thrift',
];

const COMPRESSORS: Readonly<Record<string, Envoy.Any>> = {
  gzip: typed('envoy.extensions.compression.gzip.compressor.v3.Gzip'),
  brotli: typed('envoy.extensions.compression.brotli.compressor.v3.Brotli'),
  zstd: typed('envoy.extensions.compression.zstd.compressor.v3.Zstd'),
};

function compressor(algorithm: string): Envoy.HttpFilter[] {
  const library = COMPRESSORS[algorithm];
  if (library === undefined) return [];
  return [
    {
      name: FILTER.compressor,
      typed_config: typed(`${HTTP}.compressor.v3.Compressor`, {
        compressor_library: { name: algorithm, typed_config: library },
        response_direction_config: { common_config: { content_type: COMPRESSED_TYPES } },
      }),
    },
  ];
}

function rateLimitFilter({ rateLimitService }: RoutingSettings): Envoy.HttpFilter | undefined {
  const [namespace, name] = rateLimitService?.extensionService?.split('/') ?? [];
  if (!rateLimitService || !namespace || !name) return undefined;
  const cluster = extensionClusterName(namespace, name);
  return {
    name: FILTER.rateLimit,
    typed_config: typed(`${HTTP}.ratelimit.v3.RateLimit`, {
      domain: rateLimitService.domain === '' ? 'sesame' : rateLimitService.domain,
      failure_mode_deny: !rateLimitService.failOpen,
      enable_x_ratelimit_headers: rateLimitService.enableXRateLimitHeaders ? 'DRAFT_VERSION_03' : 'OFF',
      rate_limited_as_resource_exhausted: rateLimitService.enableResourceExhaustedCode,
      rate_limit_service: {
        transport_api_version: 'V3',
        grpc_service: { envoy_grpc: { cluster_name: cluster, authority: cluster.replaceAll('/', '.') } },
      },
    }),
  };
}

function tracing({ tracing: settings }: RoutingSettings): Pick<Envoy.HttpConnectionManager, 'tracing'> {
  const [namespace, name] = settings?.extensionService?.split('/') ?? [];
  if (!settings || !namespace || !name) return {};
  const cluster = extensionClusterName(namespace, name);
  const percent = (text: string) => ({ value: Number(text) });
  const provider = typed('envoy.config.trace.v3.OpenTelemetryConfig', {
    service_name: settings.serviceName,
    grpc_service: { envoy_grpc: { cluster_name: cluster, authority: cluster.replaceAll('/', '.') } },
  });
  const pod = settings.includePodDetail
    ? [
        { tag: 'podName', environment: { name: 'HOSTNAME' } },
        { tag: 'podNamespace', environment: { name: 'SESAME_NAMESPACE' } },
      ]
    : [];
  const custom = (settings.customTags ?? []).map(
    ({ tagName, literal, requestHeaderName }): Envoy.CustomTag =>
      literal
        ? { tag: tagName, literal: { value: literal } }
        : { tag: tagName, request_header: { name: requestHeaderName ?? '' } },
  );
  return {
    tracing: {
      overall_sampling: percent(settings.overallSampling),
      client_sampling: percent(settings.clientSampling),
      random_sampling: percent(settings.randomSampling),
      max_path_tag_length: settings.maxPathTagLength,
      custom_tags: [...pod, ...custom],
      provider: { name: 'envoy.tracers.opentelemetry', typed_config: provider },
    },
  };
}

function codecType(versions: readonly string[]): Envoy.HttpConnectionManagerCodecType {
  const [only] = versions;
  if (versions.length !== 1) return 'AUTO';
  return only?.toUpperCase() === 'HTTP/2' ? 'HTTP2' : 'HTTP1';
}
