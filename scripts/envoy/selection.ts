// Which messages Sesame uses. Everything that they reach is part of the tables, except the types that are dropped here.

const HTTP = 'envoy.extensions.filters.http';
const NETWORK = 'envoy.extensions.filters.network';
const LISTENER = 'envoy.extensions.filters.listener';

export const ROOT_MESSAGES: readonly string[] = [
  'envoy.service.discovery.v3.DiscoveryRequest',
  'envoy.service.discovery.v3.DiscoveryResponse',
  'envoy.service.discovery.v3.DeltaDiscoveryRequest',
  'envoy.service.discovery.v3.DeltaDiscoveryResponse',
  'envoy.config.listener.v3.Listener',
  'envoy.config.route.v3.RouteConfiguration',
  'envoy.config.route.v3.VirtualHost',
  'envoy.config.cluster.v3.Cluster',
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.extensions.transport_sockets.tls.v3.Secret',
  'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
  'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
  'envoy.service.runtime.v3.Runtime',
  `${LISTENER}.proxy_protocol.v3.ProxyProtocol`,
  `${LISTENER}.tls_inspector.v3.TlsInspector`,
  `${NETWORK}.http_connection_manager.v3.HttpConnectionManager`,
  `${NETWORK}.tcp_proxy.v3.TcpProxy`,
  `${HTTP}.router.v3.Router`,
  `${HTTP}.lua.v3.Lua`,
  `${HTTP}.lua.v3.LuaPerRoute`,
  `${HTTP}.compressor.v3.Compressor`,
  `${HTTP}.grpc_web.v3.GrpcWeb`,
  `${HTTP}.grpc_stats.v3.FilterConfig`,
  `${HTTP}.cors.v3.Cors`,
  `${HTTP}.cors.v3.CorsPolicy`,
  `${HTTP}.local_ratelimit.v3.LocalRateLimit`,
  `${HTTP}.rbac.v3.RBAC`,
  `${HTTP}.rbac.v3.RBACPerRoute`,
  `${HTTP}.jwt_authn.v3.JwtAuthentication`,
  `${HTTP}.jwt_authn.v3.PerRouteConfig`,
  `${HTTP}.ext_authz.v3.ExtAuthz`,
  `${HTTP}.ext_authz.v3.ExtAuthzPerRoute`,
  `${HTTP}.ratelimit.v3.RateLimit`,
  `${HTTP}.ratelimit.v3.RateLimitPerRoute`,
  `${HTTP}.on_demand.v3.OnDemand`,
  `${HTTP}.compressor.v3.CompressorPerRoute`,
  `${HTTP}.custom_response.v3.CustomResponse`,
  `${HTTP}.oauth2.v3.OAuth2`,
  'envoy.config.route.v3.FilterConfig',
  'envoy.extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy',
  'envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport',
  'envoy.type.matcher.v3.HttpResponseStatusCodeMatchInput',
  'envoy.type.matcher.v3.HttpResponseLocalReplyMatchInput',
  'envoy.extensions.access_loggers.file.v3.FileAccessLog',
  'envoy.extensions.formatter.metadata.v3.Metadata',
  'envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery',
  'envoy.extensions.compression.gzip.compressor.v3.Gzip',
  'envoy.extensions.compression.brotli.compressor.v3.Brotli',
  'envoy.extensions.compression.zstd.compressor.v3.Zstd',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
  'envoy.extensions.internal_redirect.previous_routes.v3.PreviousRoutesConfig',
  'envoy.extensions.internal_redirect.safe_cross_scheme.v3.SafeCrossSchemeConfig',
  'envoy.config.trace.v3.OpenTelemetryConfig',
];

/** Lists that may hold encoded parts: resources that are composed of thousands of hosts keep those. */
export const COMPOSED_FIELDS: ReadonlySet<string> = new Set([
  'envoy.config.listener.v3.Listener.filter_chains',
  'envoy.config.route.v3.RouteConfiguration.virtual_hosts',
  `${NETWORK}.http_connection_manager.v3.HttpConnectionManager.http_filters`,
]);

/** Fields that are kept although they are deprecated (Envoys before their replacement need them) or have one of the dropped types. */
export const KEPT_FIELDS: ReadonlySet<string> = new Set([
  `${HTTP}.compressor.v3.Compressor.CommonDirectionConfig.content_type`,
  `${HTTP}.custom_response.v3.CustomResponse.custom_response_matcher`,
]);

/** Names of types that do not follow from the names of the messages. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  'envoy.config.listener.v3.Filter': 'NetworkFilter',
  'envoy.config.rbac.v3.RBAC': 'RbacRules',
  'envoy.extensions.filters.http.rbac.v3.RBAC': 'RbacFilter',
};

/** Type names that begin so are left out, with the fields that have them. */
export const DROPPED_TYPES: readonly string[] = [
  'xds.type.matcher.',
  'xds.core.v3.CollectionEntry',
  'envoy.config.common.matcher.',
  'envoy.config.common.mutation_rules.',
  'envoy.config.listener.v3.ApiListener',
  'google.api.expr.',
  'google.longrunning.',
];
