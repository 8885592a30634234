// One route of an HTTPProxy. What is wrong with it is reported, and requests for it are answered with 502: they must not fall
// through to a less specific route.
import { type Choice, type Envoy, hasFields, type PerFilter, typed } from '../../envoy/index.ts';
import type { HTTPProxy, MatchCondition, ProxyRoute } from '../../kinds/http-proxy.ts';
import type { Resource } from '../../xds/index.ts';
import {
  emptyHeaders,
  headerProblem,
  mergeHeaders,
  mergePath,
  mergeQuery,
  pathProblem,
  queryProblem,
  type RouteMatch,
  wildcardHeader,
} from '../conditions.ts';
import { authorizationContext, authorizationDisabled } from '../policy/authorization.ts';
import { cookieProblem, cookieRewriteFilter } from '../policy/cookie-rewrite.ts';
import { FILTER } from '../policy/filter-names.ts';
import { envoyHeaders, type HeaderFields, type HeaderPolicy, headerPolicy } from '../policy/header-policy.ts';
import { healthCheckProblem, httpHealthCheck } from '../policy/health-check.ts';
import { ipFilter } from '../policy/ip-filter.ts';
import { jwtRequirement } from '../policy/jwt.ts';
import { loadBalancing } from '../policy/load-balancing.ts';
import { expandReplacement, prefixReplacement } from '../policy/path-rewrite.ts';
import { rateLimit } from '../policy/rate-limit.ts';
import type { Reporter } from '../problems.ts';
import {
  clusterAction,
  directResponse,
  type RouteEntry,
  type RouteValue,
  routeMetadata,
  routeViolations,
} from '../route-entry.ts';
import { envoyTimeout } from '../timeouts.ts';
import { namesOf, type RootContext, reporterFor } from './proxy-context.ts';
import { resolveServices } from './proxy-services.ts';

/** `inherited` are the conditions of the includes on the way here, `at` the path of the route in its object. */
export function translateRoute(
  proxy: HTTPProxy,
  route: ProxyRoute,
  inherited: readonly MatchCondition[],
  context: RootContext,
  at: string,
): RouteEntry[] {
  const reporter = reporterFor(context, proxy);
  const own = route.conditions ?? [];
  const problem = pathProblem(own, false);
  if (problem !== undefined) {
    reporter.error('RouteError', 'PathMatchConditionsNotValid', `${at}.${problem}`);
    return [];
  }
  const conditions = [...inherited, ...own];
  const headers = headerProblem(conditions, inherited.length);
  if (headers !== undefined) {
    reporter.error('RouteError', 'HeaderMatchConditionsNotValid', `${at}.${headers}`);
    return [];
  }
  const query = queryProblem(conditions, inherited.length);
  if (query !== undefined) {
    reporter.error('RouteError', 'QueryParameterMatchConditionsNotValid', `${at}.${query}`);
    return [];
  }
  const match: RouteMatch = {
    path: mergePath(conditions),
    headers: [...mergeHeaders(conditions), ...wildcardHeader(context.fqdn)],
    query: mergeQuery(conditions),
  };
  const permitInsecure = route.permitInsecure === true && !context.settings.httpproxy.disablePermitInsecure;
  const entries = new RouteTranslation(proxy, route, inherited, match, context, reporter, at).entries();
  const failed = { match, value: { ...directResponse(502), ...metadata(proxy) }, clusters: [], permitInsecure };
  if (entries === undefined) return [failed];
  const refused = entries.flatMap((entry) => routeViolations(entry));
  const [first] = refused;
  if (!first) return entries.map((entry) => ({ ...entry, permitInsecure }));
  reporter.error(
    'RouteError',
    'RefusedByEnvoy',
    `${at}: Envoy would refuse the route (${first.path} ${first.problem}); correct the value that it comes from`,
  );
  // A match that is refused cannot be answered either.
  return refused.some(({ path }) => path.startsWith('match')) ? [] : [failed];
}

function metadata(proxy: HTTPProxy): Pick<Envoy.Route, 'metadata'> {
  return routeMetadata({ kind: 'HTTPProxy', ...namesOf(proxy) });
}

/** Fields that a route has whatever it does with requests. */
type CommonFields = HeaderFields & Pick<Envoy.Route, 'typed_per_filter_config' | 'metadata'>;

class RouteTranslation {
  readonly #proxy: HTTPProxy;
  readonly #route: ProxyRoute;
  readonly #inherited: readonly MatchCondition[];
  readonly #match: RouteMatch;
  readonly #context: RootContext;
  readonly #reporter: Reporter;
  readonly #at: string;

  constructor(
    proxy: HTTPProxy,
    route: ProxyRoute,
    inherited: readonly MatchCondition[],
    match: RouteMatch,
    context: RootContext,
    reporter: Reporter,
    at: string,
  ) {
    this.#inherited = inherited;
    this.#at = at;
    this.#proxy = proxy;
    this.#route = route;
    this.#match = match;
    this.#context = context;
    this.#reporter = reporter;
  }

  /** Undefined after an error was reported. */
  entries(): Omit<RouteEntry, 'permitInsecure'>[] | undefined {
    const route = this.#route;
    for (const ignored of emptyHeaders(route.conditions ?? [])) this.#warn(ignored);
    const request = headerPolicy(route.requestHeadersPolicy, {
      direction: 'request',
      allowsHostHeader: true,
      variables: { NAMESPACE: this.#proxy.metadata.namespace ?? '' },
    });
    if (!request.isOk) return this.#fail('RequestHeadersPolicyInvalid', `requestHeadersPolicy.${request.problem}`);
    const response = headerPolicy(route.responseHeadersPolicy, {
      direction: 'response',
      variables: { NAMESPACE: this.#proxy.metadata.namespace ?? '' },
    });
    if (!response.isOk) return this.#fail('ResponseHeaderPolicyInvalid', `responseHeadersPolicy.${response.problem}`);
    const cookies = cookieProblem(route.cookieRewritePolicies ?? []);
    if (cookies !== undefined) return this.#fail('CookieRewritePoliciesInvalid', cookies);
    const actions = [
      route.services?.length ? route.services : undefined,
      route.requestRedirectPolicy,
      route.directResponsePolicy,
    ];
    const count = actions.filter((each) => each !== undefined).length;
    if (count !== 1)
      return this.#fail(
        'RouteActionCountNotValid',
        `${count === 0 ? 'it has none' : `it has ${count}`} of services, requestRedirectPolicy and directResponsePolicy; set exactly one of them`,
      );

    const filters = this.#filters();
    if (!filters) return undefined;
    const limits = rateLimit(route.rateLimitPolicy, `vhost.${this.#context.fqdn}`);
    if (!limits.isOk) return this.#fail('RateLimitPolicyNotValid', `rateLimitPolicy${limits.problem}`);
    const perFilter = { ...filters, ...limits.value.perFilter };
    const common: CommonFields = {
      ...envoyHeaders(request.value, 'request'),
      ...envoyHeaders(response.value, 'response'),
      typed_per_filter_config: hasFields(perFilter) ? perFilter : undefined,
      ...metadata(this.#proxy),
    };
    if (route.directResponsePolicy) {
      const { statusCode, body } = route.directResponsePolicy;
      const size = Buffer.byteLength(body ?? '');
      if (size > MAX_BODY_BYTES)
        return this.#fail(
          'RefusedByEnvoy',
          `directResponsePolicy.body: it has ${size} bytes, and Envoy takes ${MAX_BODY_BYTES}; shorten it, or let a Service answer`,
        );
      const isBodiless = BODILESS.has(statusCode) && size > 0;
      if (isBodiless)
        this.#warn(
          `directResponsePolicy.body: it is not sent, because answers with ${statusCode} have no body; remove it`,
        );
      return [this.#entry({ ...directResponse(statusCode, isBodiless ? '' : body), ...common })];
    }
    if (route.requestRedirectPolicy) return this.#redirect(common);
    return this.#forward(request.value, common, limits.value.rateLimits);
  }

  #warn(message: string): void {
    this.#reporter.warn('SpecError', 'IgnoredField', this.#path(message));
  }

  #fail(reason: string, message: string): undefined {
    this.#reporter.error('RouteError', reason, this.#path(message));
    return undefined;
  }

  /** `spec.routes[1].FIELD: MESSAGE`; a message about the route as a whole names no field. */
  #path(message: string): string {
    return /^[a-zA-Z.[\]0-9]+: /.test(message) ? `${this.#at}.${message}` : `${this.#at}: ${message}`;
  }

  #entry(
    value: RouteValue,
    clusters: readonly Resource[] = [],
    match = this.#match,
  ): Omit<RouteEntry, 'permitInsecure'> {
    return { match, value, clusters };
  }

  #filters(): PerFilter | undefined {
    const route = this.#route;
    const { jwt, hasAuthorization, isAuthorizationDisabled } = this.#context;
    const filters: Record<string, Envoy.Any> = {};
    if (hasAuthorization) {
      // A route with a policy of its own decides by it alone, as with Contour.
      const isDisabled = route.authPolicy ? (route.authPolicy.disabled ?? false) : isAuthorizationDisabled;
      const merged = { ...this.#context.authorizationContext, ...route.authPolicy?.context };
      if (isDisabled) filters[FILTER.authorization] = authorizationDisabled();
      else if (Object.keys(merged).length > 0) filters[FILTER.authorization] = authorizationContext(merged);
    }
    const policy = route.jwtVerificationPolicy;
    if (policy?.disabled === true && policy.require) {
      this.#reporter.error(
        'JWTVerificationError',
        'InvalidJWTVerificationPolicy',
        this.#path('jwtVerificationPolicy: it has both require and disabled; keep one of them'),
      );
      return undefined;
    }
    if (policy?.require && !jwt?.names.has(policy.require)) {
      this.#reporter.error(
        'JWTVerificationError',
        'JWTProviderNotDefined',
        this.#path(
          `jwtVerificationPolicy.require: the provider ${JSON.stringify(policy.require)} is not one of spec.virtualhost.jwtProviders of the root; add it there or correct the name`,
        ),
      );
      return undefined;
    }
    const provider = policy?.disabled === true ? undefined : (policy?.require ?? jwt?.defaultProvider);
    if (provider) filters[FILTER.jwt] = jwtRequirement(provider);
    const addresses = ipFilter(route.ipAllowPolicy, route.ipDenyPolicy);
    if (addresses && !addresses.isOk) {
      this.#reporter.error('IPFilterError', addresses.problem.reason, `${this.#at}.${addresses.problem.problem}`);
      return undefined;
    }
    if (addresses) filters[FILTER.rbac] = addresses.value;
    if (route.cookieRewritePolicies?.length) filters[FILTER.lua] = cookieRewriteFilter(route.cookieRewritePolicies);
    return filters;
  }

  #redirect(common: CommonFields): Omit<RouteEntry, 'permitInsecure'>[] | undefined {
    const policy = this.#route.requestRedirectPolicy ?? {};
    if (policy.path && policy.prefix)
      return this.#fail(
        'RequestRedirectPolicy',
        'requestRedirectPolicy: it has both path and prefix; keep one of them',
      );
    const code = REDIRECT_CODES[policy.statusCode ?? 302];
    if (code === undefined)
      return this.#fail(
        'RequestRedirectPolicy',
        `requestRedirectPolicy.statusCode: ${policy.statusCode ?? ''} is no redirect; use 301, 302, 303, 307 or 308`,
      );
    const problem = redirectProblem(policy);
    if (problem !== undefined) return this.#fail('RequestRedirectPolicy', `requestRedirectPolicy.${problem}`);
    const { match: path } = { match: this.#match.path };
    const redirect = (target: Choice<Envoy.RedirectAction, 'path_redirect' | 'prefix_rewrite'>): RouteValue => ({
      redirect: {
        scheme_redirect: policy.scheme || undefined,
        host_redirect: policy.hostname,
        port_redirect: policy.port,
        ...target,
        response_code: code,
      },
      ...common,
    });
    if (!policy.prefix) return [this.#entry(redirect({ path_redirect: policy.path || undefined }))];
    if (path.kind !== 'prefix')
      return this.#fail(
        'RequestRedirectPolicy',
        'requestRedirectPolicy.prefix: the route has no prefix condition; add one, or use path',
      );
    return expandReplacement({ prefix: path.value, replacement: policy.prefix }, this.#siblings()).map(
      ({ prefix, rewrite }) =>
        this.#entry(redirect({ prefix_rewrite: rewrite }), [], {
          ...this.#match,
          path: { kind: 'prefix', value: prefix },
        }),
    );
  }

  #forward(
    request: HeaderPolicy,
    common: CommonFields,
    rateLimits: readonly Envoy.RouteRateLimit[],
  ): Omit<RouteEntry, 'permitInsecure'>[] | undefined {
    const route = this.#route;
    const timeouts = this.#timeouts();
    if (!timeouts) return undefined;
    if (route.healthCheckPolicy) {
      const problem = healthCheckProblem(route.healthCheckPolicy);
      if (problem !== undefined) return this.#fail('HealthCheckPolicyInvalid', `healthCheckPolicy.${problem}`);
    }
    const { lbPolicy, hashPolicy } = loadBalancing(route.loadBalancerPolicy, this.#reporter, this.#at);
    const resolved = resolveServices(
      this.#proxy,
      route.services ?? [],
      {
        lbPolicy,
        healthCheck: route.healthCheckPolicy && httpHealthCheck(route.healthCheckPolicy),
        idleTimeout: timeouts.idleConnection,
        routeHost: request.hostRewrite,
        cookies: route.cookieRewritePolicies ?? [],
        problemType: 'ServiceError',
        at: this.#at,
      },
      this.#context,
    );
    if (resolved.isBroken) return undefined;
    const target = clusterAction(resolved.upstreams);
    if (!target) return [this.#entry({ ...directResponse(503), ...common })];
    const clusters = [
      ...resolved.upstreams.map(({ cluster }) => cluster),
      ...(resolved.mirror ? [resolved.mirror.cluster] : []),
    ];
    const perTry = envoyTimeout(route.retryPolicy?.perTryTimeout);
    if (!perTry.isOk)
      this.#warn(`retryPolicy.perTryTimeout: ${perTry.problem}; until then tries have no timeout of their own`);
    for (const [index, condition] of (route.retryPolicy?.retryOn ?? []).entries())
      if (!RETRY_CONDITIONS.has(condition))
        this.#warn(
          `retryPolicy.retryOn[${index}]: ${JSON.stringify(condition)} is not known and has no effect; use ${[...RETRY_CONDITIONS].join(', ')}`,
        );
    const { allowCrossSchemeRedirect: cross = 'Never', redirectResponseCodes = [] } =
      route.internalRedirectPolicy ?? {};
    const other = redirectResponseCodes.findIndex((code) => REDIRECT_CODES[code] === undefined);
    if (other >= 0)
      return this.#fail(
        'InternalRedirectPolicyNotValid',
        `internalRedirectPolicy.redirectResponseCodes[${other}]: ${redirectResponseCodes[other] ?? ''} is no redirect; use 301, 302, 303, 307 or 308`,
      );
    if (!CROSS_SCHEME.has(cross))
      return this.#fail(
        'InternalRedirectPolicyNotValid',
        `internalRedirectPolicy.allowCrossSchemeRedirect: ${JSON.stringify(cross)} is not known; use Always, Never or SafeOnly`,
      );
    const host: Choice<Envoy.RouteAction, 'host_rewrite_literal' | 'host_rewrite_header'> =
      request.hostRewriteHeader === undefined
        ? { host_rewrite_literal: request.hostRewrite }
        : { host_rewrite_header: request.hostRewriteHeader };
    const action: Envoy.RouteAction = {
      ...target,
      timeout: timeouts.response,
      idle_timeout: timeouts.idle,
      retry_policy: route.retryPolicy ? retryPolicy(route.retryPolicy) : undefined,
      ...host,
      upgrade_configs: route.enableWebsockets === true ? [{ upgrade_type: 'websocket' }] : undefined,
      hash_policy: hashPolicy.length > 0 ? hashPolicy : undefined,
      rate_limits: rateLimits.length > 0 ? rateLimits : undefined,
      request_mirror_policies: resolved.mirror ? [mirrorPolicy(resolved.mirror)] : undefined,
      internal_redirect_policy: route.internalRedirectPolicy
        ? internalRedirect(route.internalRedirectPolicy)
        : undefined,
    };
    const replacement = prefixReplacement(route.pathRewritePolicy?.replacePrefix ?? [], this.#match);
    if (!replacement) return [this.#entry({ route: action, ...common }, clusters)];
    if (!replacement.isOk) {
      this.#reporter.error(
        'PrefixReplaceError',
        replacement.problem.reason,
        `${this.#at}.${replacement.problem.problem}`,
      );
      return undefined;
    }
    return expandReplacement(replacement.value, this.#siblings()).map(({ prefix, rewrite }) =>
      this.#entry({ route: { ...action, prefix_rewrite: rewrite }, ...common }, clusters, {
        ...this.#match,
        path: { kind: 'prefix', value: prefix },
      }),
    );
  }

  /** Prefixes that other routes of the same proxy have, includes included: a form that one of them routes is its own. */
  #siblings(): ReadonlySet<string> {
    const others = (this.#proxy.spec.routes ?? []).filter((route) => route !== this.#route);
    const paths = others.map(({ conditions = [] }) => mergePath([...this.#inherited, ...conditions]));
    return new Set(paths.flatMap(({ kind, value }) => (kind === 'prefix' ? value : [])));
  }

  #timeouts():
    | { response: string | undefined; idle: string | undefined; idleConnection: string | undefined }
    | undefined {
    const { timeoutPolicy = {} } = this.#route;
    const values: Record<string, string | undefined> = {};
    for (const field of ['response', 'idle', 'idleConnection'] as const) {
      const timeout = envoyTimeout(timeoutPolicy[field]);
      if (!timeout.isOk) return this.#fail('TimeoutPolicyNotValid', `timeoutPolicy.${field}: ${timeout.problem}`);
      values[field] = timeout.value;
    }
    return { response: values['response'], idle: values['idle'], idleConnection: values['idleConnection'] };
  }
}

/** Of the answer that a route has itself; Envoy refuses the whole host for a longer one. */
const MAX_BODY_BYTES = 4_096;

const REDIRECT_CODES: Readonly<Record<number, Envoy.RedirectActionRedirectResponseCode>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
};

/** Answers that HTTP sends without a body: one would be read as the start of the next answer. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

const CROSS_SCHEME: ReadonlySet<string> = new Set(['Always', 'Never', 'SafeOnly']);

/** What Envoy retries on; it ignores anything else. */
const RETRY_CONDITIONS: ReadonlySet<string> = new Set([
  '5xx',
  'gateway-error',
  'reset',
  'reset-before-request',
  'connect-failure',
  'envoy-ratelimited',
  'retriable-4xx',
  'refused-stream',
  'retriable-status-codes',
  'retriable-headers',
  'http3-post-connect-failure',
  'cancelled',
  'deadline-exceeded',
  'internal',
  'resource-exhausted',
  'unavailable',
]);

/** Without conditions to retry on: 5xx. A count of -1 switches retries off, 0 or none is one. */
export function retryPolicy({
  count = 0,
  perTryTimeout,
  retryOn,
  retriableStatusCodes,
}: NonNullable<ProxyRoute['retryPolicy']>): Envoy.RouteRetryPolicy {
  const timeout = envoyTimeout(perTryTimeout);
  const perTry = timeout.isOk ? timeout.value : undefined;
  return {
    retry_on: retryOn?.length ? retryOn.join(',') : '5xx',
    num_retries: count < 0 ? 0 : Math.max(count, 1),
    per_try_timeout: perTry,
    retriable_status_codes: retriableStatusCodes?.length ? retriableStatusCodes : undefined,
  };
}

function mirrorPolicy({
  cluster,
  percent,
}: {
  cluster: Resource;
  percent: number;
}): Envoy.RouteActionRequestMirrorPolicy {
  return {
    cluster: cluster.name,
    runtime_fraction: percent < 100 ? { default_value: { numerator: percent, denominator: 'HUNDRED' } } : undefined,
  };
}

/** What no client could follow. */
function redirectProblem({
  scheme,
  hostname,
  path,
  prefix,
}: NonNullable<ProxyRoute['requestRedirectPolicy']>): string | undefined {
  if (scheme && scheme !== 'http' && scheme !== 'https')
    return `scheme: ${JSON.stringify(scheme)} is not known; use http or https`;
  if (hostname && !HOST_NAME.test(hostname))
    return `hostname: ${JSON.stringify(hostname)} is not a host name; write one such as shop.example.com`;
  for (const [field, value] of Object.entries({ path, prefix }))
    if (value && !value.startsWith('/'))
      return `${field}: ${JSON.stringify(value)} does not start with "/"; write ${JSON.stringify(`/${value}`)}`;
  return undefined;
}

const HOST_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

function internalRedirect(policy: NonNullable<ProxyRoute['internalRedirectPolicy']>): Envoy.InternalRedirectPolicy {
  const cross = policy.allowCrossSchemeRedirect ?? 'Never';
  const previous = 'envoy.extensions.internal_redirect.previous_routes.v3.PreviousRoutesConfig';
  const safe = 'envoy.extensions.internal_redirect.safe_cross_scheme.v3.SafeCrossSchemeConfig';
  const predicates = [
    ...(cross === 'SafeOnly'
      ? [{ name: 'envoy.internal_redirect_predicates.safe_cross_scheme', typed_config: typed(safe) }]
      : []),
    ...(policy.denyRepeatedRouteRedirect === true
      ? [{ name: 'envoy.internal_redirect_predicates.previous_routes', typed_config: typed(previous) }]
      : []),
  ];
  return {
    max_internal_redirects: policy.maxInternalRedirects ? policy.maxInternalRedirects : undefined,
    redirect_response_codes: policy.redirectResponseCodes?.length ? policy.redirectResponseCodes : undefined,
    predicates: predicates.length > 0 ? predicates : undefined,
    allow_cross_scheme_redirect: cross !== 'Never',
  };
}
