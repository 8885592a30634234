// The HTTP filters of a listener or a filter chain, in the order in which a request passes them.
import { type Composed, type Envoy, Fragment, typed } from '../../envoy/index.ts';
import type { HttpOptions, RateLimitService } from '../../model/http-options.ts';
import type { AuthorizationService, HttpTraffic } from '../../model/listener.ts';
import type { Compression, Policies } from '../../model/policy.ts';
import { authorizationMessage, loginMessage, tokensMessage } from './access-message.ts';
import { errorPagesMessage } from './error-pages-message.ts';
import { FILTER, hostAuthorizationName } from './filter-names.ts';
import { compressorLibrary } from './policy-message.ts';
import { NO_BACKEND } from './route-message.ts';

const HTTP = 'envoy.extensions.filters.http';
const HTTP_FILTER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter';

type Filtered = Pick<HttpTraffic, 'options' | 'login' | 'tokens' | 'authorization' | 'isShared' | 'refusesMisdirected'>;

export function httpFilters(traffic: Filtered): Composed<typeof HTTP_FILTER> {
  const { options, login, tokens, authorization, isShared = false, refusesMisdirected } = traffic;
  const { first, last, all } = sharedFilters(options);
  if (!login && !tokens && !authorization && !isShared && refusesMisdirected !== true) return all;
  return [
    ...(refusesMisdirected === true ? [MISDIRECTED] : []),
    ...first,
    ...(login ? [{ name: FILTER.login, typed_config: loginMessage(login) }] : []),
    ...(tokens ? [{ name: FILTER.jwt, typed_config: tokensMessage(tokens) }] : []),
    ...(authorization ? [{ name: FILTER.authorization, typed_config: authorizationMessage(authorization) }] : []),
    ...(isShared ? HOST_AUTHORIZATIONS : []),
    ...last,
  ];
}

/** The names of the filters that a request passes, in order: those of the listener, and those that the host switches on. */
export function filterNames(traffic: Filtered, policies: Policies = {}): string[] {
  const { options, login, tokens, authorization, refusesMisdirected } = traffic;
  const { hostAuthorization: asked, compression, errorPages } = policies;
  const used = new Set<string>([
    ...(errorPages ? [FILTER.errorPages] : []),
    ...(compression && compression !== 'off' ? [FILTER.compressor] : []),
  ]);
  return [
    ...(refusesMisdirected === true ? [FILTER.misdirected] : []),
    ...firstNames().filter((name) => used.has(name) || !isDormant(name, options)),
    ...(login ? [FILTER.login] : []),
    ...(tokens ? [FILTER.jwt] : []),
    ...(authorization ? [FILTER.authorization] : []),
    ...(asked && !asked.isDisabled ? [hostAuthorizationName(asked.service)] : []),
    ...lastNames(options),
  ];
}

const PROTOCOLS: readonly AuthorizationService['protocol'][] = [
  { kind: 'grpc', authority: NO_BACKEND },
  { kind: 'http', pathPrefix: '', upstreamHeaders: [], requestHeaders: [] },
];

/** No request passes them unless its host names a service. Without the settings of the host they would refuse it. */
const HOST_AUTHORIZATIONS = PROTOCOLS.flatMap((protocol) =>
  [false, true].map((failOpen): Envoy.HttpFilter => {
    const service = { cluster: NO_BACKEND, protocol, timeout: undefined, failOpen, body: undefined };
    return { name: hostAuthorizationName(service), typed_config: authorizationMessage(service), disabled: true };
  }),
);

/** A connection that was opened without a name is for every name. */
const MISDIRECTED_SCRIPT = `function envoy_on_request(request)
  local name = request:streamInfo():requestedServerName()
  if name == "" then return end
  local host = string.lower(request:headers():get(":authority") or "")
  host = string.gsub(string.gsub(host, ":%d+$", ""), "%.$", "")
  if host ~= string.lower(name) then request:respond({[":status"] = "421"}, "") end
end`;

const MISDIRECTED: Envoy.HttpFilter = {
  name: FILTER.misdirected,
  typed_config: typed(`${HTTP}.lua.v3.Lua`, { default_source_code: { inline_string: MISDIRECTED_SCRIPT } }),
};

type SharedFilter = Fragment<typeof HTTP_FILTER>;

interface SharedFilters {
  /** Before those that a host may add. */
  readonly first: readonly SharedFilter[];
  readonly last: readonly SharedFilter[];
  /** For a host that adds none. */
  readonly all: readonly SharedFilter[];
}

// Thousands of hosts have the same filters: they are built and encoded once for a configuration.
const filtersOf = new WeakMap<HttpOptions, SharedFilters>();

function sharedFilters(options: HttpOptions): SharedFilters {
  let found = filtersOf.get(options);
  if (!found) {
    const fragment = (name: FilterName) =>
      new Fragment(
        HTTP_FILTER,
        {
          name,
          typed_config: CONFIGURATIONS[name](options),
          ...(isDormant(name, options) && { disabled: true }),
        },
        true,
      );
    const first = firstNames().map(fragment);
    const last = lastNames(options).map(fragment);
    found = { first, last, all: [...first, ...last] };
    filtersOf.set(options, found);
  }
  return found;
}

type FilterName = keyof typeof CONFIGURATIONS;

/** True if a request passes the filter only where its host or route switches it on. No listener changes when one does. */
function isDormant(name: FilterName, { compression, errorPages }: HttpOptions): boolean {
  if (name === FILTER.compressor) return compression === undefined;
  return name === FILTER.errorPages && errorPages.length === 0;
}

function firstNames(): FilterName[] {
  return [
    FILTER.compressor,
    FILTER.errorPages,
    FILTER.grpcWeb,
    FILTER.grpcStats,
    FILTER.cors,
    FILTER.localRateLimit,
    FILTER.lua,
    FILTER.rbac,
  ];
}

function lastNames({ rateLimits }: HttpOptions): FilterName[] {
  return [...(rateLimits ? [FILTER.rateLimit] : []), FILTER.router];
}

const CONFIGURATIONS = {
  [FILTER.compressor]: ({ compression }: HttpOptions) => compressorMessage(compression ?? 'gzip'),
  [FILTER.errorPages]: ({ errorPages }: HttpOptions) => errorPagesMessage(errorPages),
  [FILTER.grpcWeb]: () => typed(`${HTTP}.grpc_web.v3.GrpcWeb`),
  [FILTER.grpcStats]: () =>
    typed(`${HTTP}.grpc_stats.v3.FilterConfig`, { emit_filter_state: true, enable_upstream_stats: true }),
  [FILTER.cors]: () => typed(`${HTTP}.cors.v3.Cors`),
  // Without a bucket it limits nothing: hosts and routes bring theirs.
  [FILTER.localRateLimit]: () => typed(`${HTTP}.local_ratelimit.v3.LocalRateLimit`, { stat_prefix: 'http' }),
  // Without a script it does nothing and costs no interpreter: routes that rewrite cookies bring theirs.
  [FILTER.lua]: () => typed(`${HTTP}.lua.v3.Lua`),
  [FILTER.rbac]: () => typed(`${HTTP}.rbac.v3.RBAC`),
  [FILTER.rateLimit]: ({ rateLimits }: HttpOptions) => (rateLimits ? rateLimitMessage(rateLimits) : undefined),
  [FILTER.router]: () => typed(`${HTTP}.router.v3.Router`),
} satisfies Record<string, (options: HttpOptions) => Envoy.Any | undefined>;

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

function compressorMessage(algorithm: Compression): Envoy.Any {
  return typed(`${HTTP}.compressor.v3.Compressor`, {
    compressor_library: compressorLibrary(algorithm),
    response_direction_config: { common_config: { content_type: COMPRESSED_TYPES } },
  });
}

function rateLimitMessage({ cluster, domain, failOpen, hasHeaders, isResourceExhausted }: RateLimitService): Envoy.Any {
  return typed(`${HTTP}.ratelimit.v3.RateLimit`, {
    domain,
    failure_mode_deny: !failOpen,
    enable_x_ratelimit_headers: hasHeaders ? 'DRAFT_VERSION_03' : 'OFF',
    rate_limited_as_resource_exhausted: isResourceExhausted,
    rate_limit_service: {
      transport_api_version: 'V3',
      grpc_service: { envoy_grpc: { cluster_name: cluster, authority: cluster.replaceAll('/', '.') } },
    },
  });
}
