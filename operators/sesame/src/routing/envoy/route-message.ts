// From routes and virtual hosts of the model to Envoy's, and to the route configurations that contain them.
import {
  type Choice,
  type Envoy,
  Fragment,
  type FragmentChunk,
  hasFields,
  RenamedFragment,
  typed,
  type Violation,
  validate,
} from '../../envoy/index.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { PathMatch, QueryMatch, RouteMatch } from '../../model/match.ts';
import type { Origin } from '../../model/origin.ts';
import type {
  Answer,
  Destination,
  Forward,
  HashSource,
  InternalRedirects,
  Mirror,
  PathRewrite,
  Redirect,
  RedirectStatus,
  Retries,
  Route,
} from '../../model/route.ts';
import type { VirtualHost } from '../../model/virtual-host.ts';
import { createResource, PART_MARKER, PART_MARKER_CONFIG, type Resource, type ResourceKey } from '../../xds/index.ts';
import { inOrder } from '../conditions.ts';
import { clusterKey, hashName, originTexts } from './cluster-message.ts';
import { headerMatcher, headersMessage, policiesMessage, rateLimitsMessage, textMatcher } from './policy-message.ts';

export function routeMessage(route: Route): Envoy.Route {
  const { match, action, policies, requestHeaders, responseHeaders, origin } = route;
  const matched = matchMessage(match);
  // The client is not asked who it is before it is sent to HTTPS.
  if (action.kind === 'upgrade')
    return {
      match: matched,
      redirect: { https_redirect: true },
      typed_per_filter_config: policiesMessage({ authorization: { kind: 'disabled' } }),
    };
  return {
    match: matched,
    ...(action.kind === 'forward'
      ? { route: forwardMessage(action) }
      : action.kind === 'redirect'
        ? { redirect: redirectMessage(action) }
        : { direct_response: answerMessage(action) }),
    ...(requestHeaders || responseHeaders ? headersMessage(requestHeaders, responseHeaders) : undefined),
    typed_per_filter_config: hasFields(policies) ? policiesMessage(policies) : undefined,
    metadata: originMessage(origin),
  };
}

/** Returns the violations that Envoy would refuse in the route. */
export function routeViolations(route: Route): Violation[] {
  return validate('envoy.config.route.v3.Route', routeMessage(route));
}

/** No cluster has this name, so Envoy answers as the route asks for. */
export const NO_BACKEND = 'no-backend';

/** Clusters that the route sends requests to, mirrors included. */
export function clustersOf({ action }: Pick<Route, 'action'>): Cluster[] {
  if (action.kind !== 'forward') return [];
  return [
    ...action.destinations.flatMap(({ cluster }) => cluster ?? []),
    ...action.mirrors.map(({ cluster }) => cluster),
  ];
}

export function matchMessage({ path, headers, query }: RouteMatch): Envoy.RouteMatch {
  return {
    ...pathSpecifier(path),
    headers: headers.length > 0 ? headers.map(headerMatcher) : undefined,
    query_parameters: query.length > 0 ? query.map(queryMatcher) : undefined,
  };
}

type PathSpecifier = Choice<Envoy.RouteMatch, 'path' | 'safe_regex' | 'path_separated_prefix' | 'prefix'>;

function pathSpecifier(path: PathMatch): PathSpecifier {
  if (path.kind === 'exact') return { path: path.value };
  if (path.kind === 'regex')
    return { safe_regex: { regex: path.value.startsWith('^') ? path.value : `^${path.value}` } };
  if (path.isSegment === true && path.value !== '/') return { path_separated_prefix: path.value };
  return { prefix: path.value };
}

function queryMatcher({ name, kind, value, ignoreCase }: QueryMatch): Envoy.QueryParameterMatcher {
  if (kind === 'present') return { name, present_match: true };
  return { name, string_match: textMatcher({ kind, value, ignoreCase }) };
}

/** Access logs name the object by it. */
function originMessage({ kind, namespace, name }: Origin): Envoy.CoreMetadata {
  return {
    filter_metadata: {
      'envoy.access_loggers.file': {
        'io.projectsesame.kind': kind,
        'io.projectsesame.namespace': namespace,
        'io.projectsesame.name': name,
      },
    },
  };
}

export function answerMessage({ status, body }: Pick<Answer, 'status' | 'body'>): Envoy.DirectResponseAction {
  return { status, body: body !== '' ? { inline_string: body } : undefined };
}

function forwardMessage(action: Forward): Envoy.RouteAction {
  const { hostRewrite, mirrors, hashes, retries, internalRedirects } = action;
  const host: Choice<Envoy.RouteAction, 'host_rewrite_literal' | 'host_rewrite_header'> =
    hostRewrite?.kind === 'header'
      ? { host_rewrite_header: hostRewrite.name }
      : { host_rewrite_literal: hostRewrite?.value };
  return {
    ...destinationsMessage(action.destinations),
    cluster_not_found_response_code: action.statusWithoutCluster === 500 ? 'INTERNAL_SERVER_ERROR' : undefined,
    timeout: action.timeout,
    idle_timeout: action.idleTimeout,
    retry_policy: retries && retriesMessage(retries),
    ...host,
    upgrade_configs: action.allowsWebsockets === true ? [{ upgrade_type: 'websocket' }] : undefined,
    hash_policy: hashes.length > 0 ? hashes.map(hashMessage) : undefined,
    rate_limits: action.rateLimits.length > 0 ? rateLimitsMessage(action.rateLimits) : undefined,
    request_mirror_policies: mirrors.length > 0 ? mirrors.map(mirrorMessage) : undefined,
    internal_redirect_policy: internalRedirects && internalRedirectsMessage(internalRedirects),
    ...(action.pathRewrite && rewriteMessage(action.pathRewrite)),
  };
}

function destinationsMessage(
  destinations: readonly Destination[],
): Choice<Envoy.RouteAction, 'cluster' | 'weighted_clusters'> {
  const clusters = destinations.map(destinationMessage);
  const [only] = clusters;
  if (clusters.length === 1 && only) {
    const { name, weight: _weight, ...more } = only;
    if (!hasFields(more)) return { cluster: name };
  }
  return { weighted_clusters: { clusters } };
}

function destinationMessage(destination: Destination): Envoy.WeightedClusterClusterWeight & { readonly name: string } {
  const { cluster, weight, requestHeaders, responseHeaders, hostRewrite, cookies } = destination;
  return {
    name: cluster?.name ?? NO_BACKEND,
    weight,
    ...(requestHeaders || responseHeaders ? headersMessage(requestHeaders, responseHeaders) : undefined),
    host_rewrite_literal: hostRewrite,
    typed_per_filter_config: cookies && policiesMessage({ cookies }),
  };
}

function mirrorMessage({ cluster, share }: Mirror): Envoy.RouteActionRequestMirrorPolicy {
  return {
    cluster: cluster.name,
    runtime_fraction: share && {
      default_value: { numerator: share.parts, denominator: share.of === 100 ? 'HUNDRED' : 'MILLION' },
    },
  };
}

function retriesMessage({ on, count, perTryTimeout, statusCodes, backoff }: Retries): Envoy.RouteRetryPolicy {
  return {
    retry_on: on,
    num_retries: count,
    per_try_timeout: perTryTimeout,
    retriable_status_codes: statusCodes?.length ? statusCodes : undefined,
    retry_back_off: backoff !== undefined ? { base_interval: backoff } : undefined,
  };
}

function hashMessage(source: HashSource): Envoy.RouteActionHashPolicy {
  switch (source.kind) {
    case 'cookie':
      return { cookie: { name: source.name, ttl: source.ttl, path: source.path } };
    case 'header':
      return { header: { header_name: source.name }, terminal: source.isTerminal };
    case 'query':
      return { query_parameter: { name: source.name }, terminal: source.isTerminal };
    case 'address':
      return { connection_properties: { source_ip: true }, terminal: source.isTerminal };
  }
}

function rewriteMessage(rewrite: PathRewrite): Choice<Envoy.RouteAction, 'prefix_rewrite' | 'regex_rewrite'> {
  if (rewrite.kind === 'prefix') return { prefix_rewrite: rewrite.value };
  return { regex_rewrite: { pattern: { regex: rewrite.pattern }, substitution: rewrite.substitution } };
}

function internalRedirectsMessage(policy: InternalRedirects): Envoy.InternalRedirectPolicy {
  const { max, statuses, crossScheme, deniesRepeatedRoutes } = policy;
  const previous = 'envoy.extensions.internal_redirect.previous_routes.v3.PreviousRoutesConfig';
  const safe = 'envoy.extensions.internal_redirect.safe_cross_scheme.v3.SafeCrossSchemeConfig';
  const predicates = [
    ...(crossScheme === 'SafeOnly'
      ? [{ name: 'envoy.internal_redirect_predicates.safe_cross_scheme', typed_config: typed(safe) }]
      : []),
    ...(deniesRepeatedRoutes
      ? [{ name: 'envoy.internal_redirect_predicates.previous_routes', typed_config: typed(previous) }]
      : []),
  ];
  return {
    max_internal_redirects: max,
    redirect_response_codes: statuses,
    predicates: predicates.length > 0 ? predicates : undefined,
    allow_cross_scheme_redirect: crossScheme !== 'Never',
  };
}

const REDIRECT_CODES: Readonly<Record<RedirectStatus, Envoy.RedirectActionRedirectResponseCode>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
};

function redirectedPath(
  path: NonNullable<Redirect['path']>,
): Choice<Envoy.RedirectAction, 'path_redirect' | 'prefix_rewrite' | 'regex_rewrite'> {
  return path.kind === 'full' ? { path_redirect: path.value } : rewriteMessage(path);
}

function redirectMessage({ scheme, host, port, path, status }: Redirect): Envoy.RedirectAction {
  return {
    scheme_redirect: scheme,
    host_redirect: host,
    port_redirect: port,
    ...(path && redirectedPath(path)),
    response_code: REDIRECT_CODES[status],
  };
}

export const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
export const HTTP_ROUTES = 'ingress_http';
export const FALLBACK_ROUTES = 'ingress_fallbackcert';

/** The common part of every route configuration. */
const COMMON: Pick<Envoy.RouteConfiguration, 'request_headers_to_add' | 'ignore_port_in_host_matching'> = {
  request_headers_to_add: [
    { header: { key: 'x-request-start', value: 't=%START_TIME(%s.%3f)%' }, append_action: 'APPEND_IF_EXISTS_OR_ADD' },
  ],
  ignore_port_in_host_matching: true,
};

export function virtualHostMessage(host: VirtualHost): Envoy.VirtualHost {
  const { fqdn, routes, policies, rateLimits, http3Port } = host;
  return {
    name: hashName(fqdn),
    domains: [fqdn],
    routes: inOrder(routes).map((route) => routeMessage(route)),
    typed_per_filter_config: hasFields(policies) ? policiesMessage(policies) : undefined,
    rate_limits: rateLimits.length > 0 ? rateLimitsMessage(rateLimits) : undefined,
    response_headers_to_add: http3Port === undefined ? undefined : [alternative(http3Port)],
  };
}

/** Clients that know it use HTTP/3 for a day (RFC 7838). */
function alternative(port: number): Envoy.HeaderValueOption {
  return {
    header: { key: 'alt-svc', value: `h3=":${port}"; ma=86400` },
    append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
  };
}

/** The constraints of Envoy that a host violates, beside its routes, which are checked one by one. */
export function hostViolations(host: Omit<VirtualHost, 'routes'>): Violation[] {
  return validate(VIRTUAL_HOST, virtualHostMessage({ ...host, routes: [] }));
}

export function clusterKeys(routes: readonly Route[]): ResourceKey[] {
  return [...new Set(routes.flatMap((route) => clustersOf(route).map((cluster) => clusterKey(cluster))))];
}

/** A virtual host in a route configuration. */
export type HostFragment = Fragment<typeof VIRTUAL_HOST>;

/** A part of a shared route configuration, and the same as a resource of its own for delta clients. */
export interface SharedHost {
  readonly fragment: HostFragment;
  readonly resource: Resource;
}

export function sharedHost(routesName: string, parts: VirtualHost): SharedHost {
  const host = virtualHostMessage(parts);
  // Envoy finds the virtual hosts of a configuration by this prefix.
  const name = `${routesName}/${parts.fqdn}`;
  const resource = createResource({
    type: 'vhds',
    name,
    value: { ...host, name },
    requires: clusterKeys(parts.routes),
    origins: originTexts(parts.origins),
  });
  const fragment = new RenamedFragment(VIRTUAL_HOST, hashName(parts.fqdn), resource.bytes('grpc', 'whole'));
  return { fragment, resource };
}

type HostChunks = readonly FragmentChunk<typeof VIRTUAL_HOST>[];

/**
 * One resource, composed of the bytes of the hosts; for delta clients it is split, and only the hosts in `more` stay in it. A function
 * returns the same hosts each time.
 */
export function sharedRoutes(
  name: string,
  hosts: HostChunks | (() => HostChunks),
  contentHash: string,
  requires: readonly ResourceKey[],
  more: readonly HostFragment[] = [],
): Resource {
  const chunksOf = typeof hosts === 'function' ? hosts : () => hosts;
  return createResource({
    type: 'rds',
    name,
    composition: {
      get chunks() {
        return chunksOf();
      },
      of: (chunks: HostChunks, hash) => sharedRoutes(name, chunks, hash, requires, more),
      nameOf: ({ value }: HostFragment) => value.domains?.[0] ?? '',
      marker: HOST_MARKER,
    },
    value: () => ({ name, virtual_hosts: [...chunksOf(), ...more], ...COMMON }),
    splitValue: {
      name,
      virtual_hosts: more.length > 0 ? more : undefined,
      ...COMMON,
      vhds: { config_source: ADS_SOURCE },
    },
    contentHash,
    requires,
  });
}

const HOST_MARKER = new Fragment(
  VIRTUAL_HOST,
  {
    name: PART_MARKER,
    domains: [`${PART_MARKER}.invalid`],
    typed_per_filter_config: { [PART_MARKER]: PART_MARKER_CONFIG },
  },
  true,
);

const ADS_SOURCE: Envoy.ConfigSource = { ads: {}, resource_api_version: 'V3' };

export function secureRoutesName(fqdn: string): string {
  return `https/${fqdn}`;
}

/**
 * The routes of a host with TLS. A request for another host arrives here when a client reuses a connection whose certificate covers both;
 * it is answered with 421, and the client connects again.
 */
export function secureRoutes(host: VirtualHost): Resource {
  const { fqdn, routes, origins, hasLogin } = host;
  const name = secureRoutesName(fqdn);
  const misdirected: Envoy.VirtualHost = {
    name: 'misdirected',
    domains: ['*'],
    routes: [
      {
        match: { prefix: '/' },
        direct_response: { status: 421 },
        typed_per_filter_config: policiesMessage({
          authorization: { kind: 'disabled' },
          ...(hasLogin === true && { needsNoLogin: true }),
        }),
      },
    ],
  };
  const own = virtualHostMessage(host);
  return createResource({
    type: 'rds',
    name,
    value: { name, virtual_hosts: fqdn === '*' ? [own] : [own, misdirected], ...COMMON },
    requires: clusterKeys(routes),
    origins: originTexts(origins),
  });
}
