// From policies of the model to the configurations of Envoy's filters.
import { type Choice, type Envoy, hasFields, type PerFilter, statusCode, typed } from '../../envoy/index.ts';
import type { AuthorizationBody, AuthorizationService } from '../../model/listener.ts';
import type { HeaderMatch, TextMatch } from '../../model/match.ts';
import type {
  AddressPolicy,
  AuthorizationPolicy,
  Compression,
  CorsPolicy,
  HeaderChanges,
  HostAuthorization,
  LocalRateLimit,
  Policies,
  RateLimitDescriptor,
  RateLimitEntry,
} from '../../model/policy.ts';
import { cookieScript } from './cookie-rewrite.ts';
import { errorPagesMessage } from './error-pages-message.ts';
import { FILTER, hostAuthorizationName } from './filter-names.ts';

const HTTP = 'envoy.extensions.filters.http';

/** By the names of the filters; undefined when there are none. */
export function policiesMessage(policies: Policies): PerFilter | undefined {
  const { authorization, hostAuthorization, jwtProvider, addresses, cookies, cors, errorPages } = policies;
  const { localRateLimit, ignoresHostRateLimits } = policies;
  const filters: Record<string, Envoy.Any> = {};
  if (cors) filters[FILTER.cors] = corsMessage(cors);
  if (authorization) filters[FILTER.authorization] = authorizationMessage(authorization);
  if (hostAuthorization)
    filters[hostAuthorizationName(hostAuthorization.service)] = hostAuthorizationMessage(hostAuthorization);
  if (policies.compression) filters[FILTER.compressor] = compressionMessage(policies.compression);
  if (policies.needsNoLogin === true) filters[FILTER.login] = OFF;
  if (jwtProvider !== undefined)
    filters[FILTER.jwt] = typed(`${HTTP}.jwt_authn.v3.PerRouteConfig`, { requirement_name: jwtProvider });
  if (addresses) filters[FILTER.rbac] = addressesMessage(addresses);
  if (cookies)
    filters[FILTER.lua] = typed(`${HTTP}.lua.v3.LuaPerRoute`, {
      source_code: { inline_string: cookieScript(cookies) },
    });
  if (localRateLimit) filters[FILTER.localRateLimit] = localRateLimitMessage(localRateLimit);
  if (ignoresHostRateLimits === true)
    filters[FILTER.rateLimit] = typed(`${HTTP}.ratelimit.v3.RateLimitPerRoute`, { vh_rate_limits: 'IGNORE' });
  if (errorPages) filters[FILTER.errorPages] = errorPages.length > 0 ? errorPagesMessage(errorPages) : OFF;
  for (const _filter in filters) return filters;
  return undefined;
}

/** Requests do not pass the filter. */
const OFF = typed('envoy.config.route.v3.FilterConfig', { disabled: true });

function corsMessage(cors: CorsPolicy): Envoy.Any {
  return typed(`${HTTP}.cors.v3.CorsPolicy`, {
    allow_origin_string_match: cors.allowOrigins.map(textMatcher),
    allow_credentials: cors.allowCredentials,
    allow_private_network_access: cors.allowPrivateNetwork,
    forward_not_matching_preflights: cors.forwardsOtherPreflights,
    allow_methods: cors.allowMethods,
    allow_headers: cors.allowHeaders,
    expose_headers: cors.exposeHeaders,
    max_age: cors.maxAge,
  });
}

function authorizationMessage(policy: AuthorizationPolicy): Envoy.Any {
  return typed(
    `${HTTP}.ext_authz.v3.ExtAuthzPerRoute`,
    policy.kind === 'disabled' ? { disabled: true } : { check_settings: { context_extensions: policy.context } },
  );
}

function hostAuthorizationMessage({ service, isDisabled, context }: HostAuthorization): Envoy.Any {
  const { body } = service;
  const settings: Envoy.CheckSettings = {
    ...askedService(service),
    context_extensions: hasFields(context) ? context : undefined,
    with_request_body: body && bodyMessage(body),
  };
  return typed(`${HTTP}.ext_authz.v3.ExtAuthzPerRoute`, isDisabled ? { disabled: true } : { check_settings: settings });
}

/** A service that is asked, as filters and routes name it. */
export function askedService({
  cluster,
  protocol,
  timeout,
}: AuthorizationService): Choice<Envoy.CheckSettings, 'grpc_service' | 'http_service'> {
  if (protocol.kind === 'grpc')
    return { grpc_service: { envoy_grpc: { cluster_name: cluster, authority: protocol.authority }, timeout } };
  const { pathPrefix, upstreamHeaders } = protocol;
  return {
    http_service: {
      server_uri: { uri: `http://${cluster.replaceAll('/', '.')}/`, cluster, timeout: timeout ?? '0.2s' },
      path_prefix: pathPrefix !== '' ? pathPrefix : undefined,
      authorization_response:
        upstreamHeaders.length > 0
          ? { allowed_upstream_headers: { patterns: upstreamHeaders.map(textMatcher) } }
          : undefined,
    },
  };
}

export function bodyMessage({ maxBytes, allowsPartial, isSentAsBytes }: AuthorizationBody): Envoy.BufferSettings {
  return { max_request_bytes: maxBytes, allow_partial_message: allowsPartial, pack_as_bytes: isSentAsBytes };
}

function compressionMessage(compression: Compression | 'off'): Envoy.Any {
  return typed(
    `${HTTP}.compressor.v3.CompressorPerRoute`,
    compression === 'off' ? { disabled: true } : { overrides: { compressor_library: compressorLibrary(compression) } },
  );
}

const COMPRESSORS: Readonly<Record<Compression, Envoy.Any>> = {
  gzip: typed('envoy.extensions.compression.gzip.compressor.v3.Gzip'),
  brotli: typed('envoy.extensions.compression.brotli.compressor.v3.Brotli'),
  zstd: typed('envoy.extensions.compression.zstd.compressor.v3.Zstd'),
};

export function compressorLibrary(compression: Compression): Envoy.TypedExtensionConfig {
  return { name: compression, typed_config: COMPRESSORS[compression] };
}

function addressesMessage({ action, ranges }: AddressPolicy): Envoy.Any {
  const principals = ranges.map(({ source, address, prefixLength }): Envoy.Principal => {
    const range = { address_prefix: address, prefix_len: prefixLength };
    return source === 'Peer' ? { direct_remote_ip: range } : { remote_ip: range };
  });
  const policy = { permissions: [{ any: true }], principals };
  return typed(`${HTTP}.rbac.v3.RBACPerRoute`, {
    rbac: { rules: { action: action === 'allow' ? 'ALLOW' : 'DENY', policies: { 'ip-rules': policy } } },
  });
}

function localRateLimitMessage(limit: LocalRateLimit): Envoy.Any {
  const { statPrefix, requests, burst, interval, status, responseHeaders } = limit;
  const always: Envoy.RuntimeFractionalPercent = { default_value: { numerator: 100, denominator: 'HUNDRED' } };
  return typed(`${HTTP}.local_ratelimit.v3.LocalRateLimit`, {
    stat_prefix: statPrefix,
    token_bucket: { max_tokens: requests + burst, tokens_per_fill: requests, fill_interval: interval },
    filter_enabled: always,
    filter_enforced: always,
    status: status === undefined ? undefined : { code: statusCode(status) },
    response_headers_to_add: responseHeaders.length > 0 ? responseHeaders.map(overwrite) : undefined,
  });
}

export function rateLimitsMessage(descriptors: readonly RateLimitDescriptor[]): readonly Envoy.RouteRateLimit[] {
  return descriptors.map((entries) => ({ actions: entries.map(rateLimitAction) }));
}

function rateLimitAction(entry: RateLimitEntry): Envoy.RateLimitAction {
  switch (entry.kind) {
    case 'generic':
      return { generic_key: { descriptor_value: entry.value, descriptor_key: entry.key } };
    case 'header':
      return { request_headers: { header_name: entry.header, descriptor_key: entry.key } };
    case 'headerMatch':
      return {
        header_value_match: {
          descriptor_value: entry.value,
          expect_match: entry.expectMatch,
          headers: entry.headers.map(headerMatcher),
        },
      };
    case 'address':
      return { remote_address: {} };
  }
}

/** Fields that routes, virtual hosts and weighted clusters have in common. */
export type HeaderFields = Pick<
  Envoy.Route,
  'request_headers_to_add' | 'request_headers_to_remove' | 'response_headers_to_add' | 'response_headers_to_remove'
>;

export function headersMessage(request: HeaderChanges | undefined, response: HeaderChanges | undefined): HeaderFields {
  const [asked, answered] = [request && headerOptions(request), response && headerOptions(response)];
  return {
    request_headers_to_add: asked?.add,
    request_headers_to_remove: asked?.remove,
    response_headers_to_add: answered?.add,
    response_headers_to_remove: answered?.remove,
  };
}

function headerOptions({ set, add = [], remove }: HeaderChanges) {
  const added = [...set.map(overwrite), ...add.map(append)];
  return { add: added.length > 0 ? added : undefined, remove: remove.length > 0 ? remove : undefined };
}

function overwrite({ name: key, value }: { readonly name: string; readonly value: string }): Envoy.HeaderValueOption {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}

function append({ name: key, value }: { readonly name: string; readonly value: string }): Envoy.HeaderValueOption {
  return { header: { key, value }, append_action: 'APPEND_IF_EXISTS_OR_ADD' };
}

export function headerMatcher(match: HeaderMatch): Envoy.HeaderMatcher {
  const { name, kind, value, isInverted, ignoreCase, treatMissingAsEmpty } = match;
  const content: Choice<Envoy.HeaderMatcher, 'present_match' | 'string_match'> =
    kind === 'present' ? { present_match: true } : { string_match: textMatcher({ kind, value, ignoreCase }) };
  return { name, ...content, invert_match: isInverted, treat_missing_header_as_empty: treatMissingAsEmpty };
}

export function textMatcher({ kind, value, ignoreCase }: TextMatch): Envoy.StringMatcher {
  switch (kind) {
    case 'regex':
      return { safe_regex: { regex: value } };
    case 'exact':
      return { exact: value, ignore_case: ignoreCase };
    case 'prefix':
      return { prefix: value, ignore_case: ignoreCase };
    case 'suffix':
      return { suffix: value, ignore_case: ignoreCase };
    case 'contains':
      return { contains: value, ignore_case: ignoreCase };
  }
}
