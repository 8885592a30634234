// One route of an HTTPProxy. Its problems are reported, and requests for an invalid route are answered with 502: they must not fall through
// to a less specific route.
import type { HTTPProxy, MatchCondition, ProxyRoute } from '../../kinds/http-proxy.ts';
import type { RouteMatch } from '../../model/match.ts';
import type { Origin } from '../../model/origin.ts';
import type { AuthorizationPolicy, Policies, RateLimitDescriptor } from '../../model/policy.ts';
import type {
  Answer,
  Forward,
  HostRewrite,
  Redirect,
  RedirectStatus,
  Retries,
  Route,
  RouteAction,
} from '../../model/route.ts';
import { namesOf, type Reporter, reporterFor } from '../../result.ts';
import {
  emptyHeaders,
  headerProblem,
  mergeHeaders,
  mergePath,
  mergeQuery,
  pathProblem,
  queryProblem,
  wildcardHeader,
} from '../conditions.ts';
import { cookieProblem } from '../envoy/cookie-rewrite.ts';
import { routeViolations } from '../envoy/route-message.ts';
import { compressionOf } from '../policy/compression.ts';
import { type HeaderPolicy, headerChanges, headerPolicy } from '../policy/header-policy.ts';
import { healthCheckProblem, httpHealthCheck } from '../policy/health-check.ts';
import { ipFilter } from '../policy/ip-filter.ts';
import { type LoadBalancing, loadBalancing } from '../policy/load-balancing.ts';
import { expandReplacement, prefixReplacement } from '../policy/path-rewrite.ts';
import { rateLimit } from '../policy/rate-limit.ts';
import { regexRewrite } from '../policy/regex-rewrite.ts';
import { envoyTimeout } from '../timeouts.ts';
import type { RootContext } from './proxy-context.ts';
import { resolveServices } from './proxy-services.ts';

/** `inherited` are the conditions of the includes on the way here, `through` their places, `at` the path of the route in its object. */
function translateRoute(
  proxy: HTTPProxy,
  route: ProxyRoute,
  inherited: readonly MatchCondition[],
  context: RootContext,
  at: string,
  through: readonly string[] = [],
): Route[] {
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
  const isOpen = route.oidcPolicy?.disabled === true;
  if (route.permitInsecure === true && context.hasLogin && !isOpen)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `${at}.permitInsecure: it is ignored, because clients of the host log in over TLS; remove it, or set oidcPolicy.disabled`,
    );
  const permitInsecure =
    route.permitInsecure === true && !context.settings.httpproxy.disablePermitInsecure && (isOpen || !context.hasLogin);
  const origin: Origin = { kind: 'HTTPProxy', ...namesOf(proxy), path: at, ...(through.length > 0 && { through }) };
  const failed: Route = { match, action: answer(502), policies: {}, permitInsecure, origin };
  const translated = new RouteTranslation(proxy, route, inherited, match, context, reporter, at).routes();
  if (translated === undefined) return [failed];
  const routes = translated.map((each): Route => ({ ...each, permitInsecure, origin }));
  const refused = routes.flatMap((each) => routeViolations(each));
  const [first] = refused;
  if (!first) return routes;
  reporter.error(
    'RouteError',
    'RefusedByEnvoy',
    `${at}: Envoy would refuse the route (${first.path} ${first.problem}); correct the value that it comes from`,
  );
  // A match that is refused cannot be answered either.
  return refused.some(({ path }) => path.startsWith('match')) ? [] : [failed];
}

/** The decisions of the object as a whole are added to each of its routes. */
type OwnRoute = Omit<Route, 'permitInsecure' | 'origin'>;

/** Fields that a route has whatever it does with requests. */
type CommonFields = Pick<Route, 'requestHeaders' | 'responseHeaders' | 'policies'>;

/** Returns the routes of a proxy itself, without those of the proxies that it includes. */
export function ownRoutes(
  proxy: HTTPProxy,
  context: RootContext,
  inherited: readonly MatchCondition[] = [],
  through: readonly string[] = [],
): Route[] {
  context.log.visit(namesOf(proxy));
  return (proxy.spec.routes ?? []).flatMap((route, index) =>
    translateRoute(proxy, route, inherited, context, `spec.routes[${index}]`, through),
  );
}

function answer(status: number, body = ''): Answer {
  return { kind: 'answer', status, body };
}

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
  routes(): OwnRoute[] | undefined {
    const route = this.#route;
    for (const ignored of emptyHeaders(route.conditions ?? [])) this.#warn(ignored);
    const variables = { NAMESPACE: this.#proxy.metadata.namespace ?? '' };
    const request =
      route.requestHeadersPolicy &&
      headerPolicy(route.requestHeadersPolicy, { direction: 'request', allowsHostHeader: true, variables });
    if (request && !request.isOk)
      return this.#fail('RequestHeadersPolicyInvalid', `requestHeadersPolicy.${request.problem}`);
    const response =
      route.responseHeadersPolicy && headerPolicy(route.responseHeadersPolicy, { direction: 'response', variables });
    if (response && !response.isOk)
      return this.#fail('ResponseHeaderPolicyInvalid', `responseHeadersPolicy.${response.problem}`);
    const cookies = route.cookieRewritePolicies && cookieProblem(route.cookieRewritePolicies);
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

    const policies = this.#policies();
    if (!policies) return undefined;
    const limits = route.rateLimitPolicy && rateLimit(route.rateLimitPolicy, `vhost.${this.#context.fqdn}`);
    if (limits && !limits.isOk) return this.#fail('RateLimitPolicyNotValid', `rateLimitPolicy${limits.problem}`);
    const common: CommonFields = {
      requestHeaders: request && headerChanges(request.value),
      responseHeaders: response && headerChanges(response.value),
      policies: { ...policies, ...limits?.value.policies },
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
      const own = answer(statusCode, isBodiless ? '' : body);
      // A page would take the place of the text that the route has for the answer.
      const keeps = own.body !== '' && statusCode >= 400 && this.#hasErrorPages();
      return [this.#own(own, keeps ? { ...common, policies: { ...common.policies, errorPages: [] } } : common)];
    }
    if (route.requestRedirectPolicy) return this.#redirect(common);
    return this.#forward(request?.value, common, limits?.value.descriptors ?? []);
  }

  #hasErrorPages(): boolean {
    const { root, settings } = this.#context;
    return [root.spec.virtualhost?.errorPages, settings.envoy.errorPages].some((pages) => pages?.length);
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

  #own(action: RouteAction, common: CommonFields, match = this.#match): OwnRoute {
    return { match, action, ...common };
  }

  #policies(): Policies | undefined {
    const route = this.#route;
    const { jwt, hasAuthorization, isAuthorizationDisabled } = this.#context;
    let authorization: AuthorizationPolicy | undefined;
    let { hostAuthorization } = this.#context;
    if (hostAuthorization) {
      // The service of the host is asked in the place of that of all hosts.
      if (this.#context.settings.globalExtAuth) authorization = { kind: 'disabled' };
      hostAuthorization = route.authPolicy && {
        ...hostAuthorization,
        isDisabled: route.authPolicy.disabled ?? false,
        context: { ...hostAuthorization.context, ...route.authPolicy.context },
        origin: { kind: 'HTTPProxy', ...namesOf(this.#proxy), path: `${this.#at}.authPolicy` },
      };
    } else if (hasAuthorization) {
      // A route with a policy of its own decides by it alone, as with Contour.
      const isDisabled = route.authPolicy ? (route.authPolicy.disabled ?? false) : isAuthorizationDisabled;
      const merged = { ...this.#context.authorizationContext, ...route.authPolicy?.context };
      if (isDisabled) authorization = { kind: 'disabled' };
      else if (Object.keys(merged).length > 0) authorization = { kind: 'context', context: merged };
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
    const addresses =
      route.ipAllowPolicy || route.ipDenyPolicy ? ipFilter(route.ipAllowPolicy, route.ipDenyPolicy) : undefined;
    if (addresses && !addresses.isOk) {
      this.#reporter.error('IPFilterError', addresses.problem.reason, `${this.#at}.${addresses.problem.problem}`);
      return undefined;
    }
    const compression = route.compressionPolicy && compressionOf(route.compressionPolicy);
    if (compression && !compression.isOk)
      return this.#fail('CompressionPolicyNotValid', `compressionPolicy.${compression.problem}`);
    return {
      ...(authorization && { authorization }),
      ...(hostAuthorization && { hostAuthorization }),
      ...(this.#context.hasLogin && route.oidcPolicy?.disabled === true && { needsNoLogin: true }),
      ...(provider && { jwtProvider: provider }),
      ...(addresses && { addresses: addresses.value }),
      ...(compression && { compression: compression.value }),
      ...(route.cookieRewritePolicies?.length && { cookies: route.cookieRewritePolicies }),
    };
  }

  #redirect(common: CommonFields): OwnRoute[] | undefined {
    const policy = this.#route.requestRedirectPolicy ?? {};
    if (policy.path && policy.prefix)
      return this.#fail(
        'RequestRedirectPolicy',
        'requestRedirectPolicy: it has both path and prefix; keep one of them',
      );
    const status = REDIRECT_STATUSES.find((each) => each === (policy.statusCode ?? 302));
    if (status === undefined)
      return this.#fail(
        'RequestRedirectPolicy',
        `requestRedirectPolicy.statusCode: ${policy.statusCode ?? ''} is no redirect; use 301, 302, 303, 307 or 308`,
      );
    const problem = redirectProblem(policy);
    if (problem !== undefined) return this.#fail('RequestRedirectPolicy', `requestRedirectPolicy.${problem}`);
    const { path } = this.#match;
    const redirect = (target: Redirect['path']): Redirect => ({
      kind: 'redirect',
      scheme: policy.scheme || undefined,
      host: policy.hostname,
      port: policy.port,
      path: target,
      status,
    });
    if (!policy.prefix)
      return [this.#own(redirect(policy.path ? { kind: 'full', value: policy.path } : undefined), common)];
    if (path.kind !== 'prefix')
      return this.#fail(
        'RequestRedirectPolicy',
        'requestRedirectPolicy.prefix: the route has no prefix condition; add one, or use path',
      );
    return expandReplacement({ prefix: path.value, replacement: policy.prefix }, this.#siblings()).map(
      ({ prefix, rewrite }) =>
        this.#own(redirect({ kind: 'prefix', value: rewrite }), common, {
          ...this.#match,
          path: { kind: 'prefix', value: prefix },
        }),
    );
  }

  #forward(
    request: HeaderPolicy | undefined,
    common: CommonFields,
    rateLimits: readonly RateLimitDescriptor[],
  ): OwnRoute[] | undefined {
    const route = this.#route;
    const timeouts = this.#timeouts();
    if (!timeouts) return undefined;
    if (route.healthCheckPolicy) {
      const problem = healthCheckProblem(route.healthCheckPolicy);
      if (problem !== undefined) return this.#fail('HealthCheckPolicyInvalid', `healthCheckPolicy.${problem}`);
    }
    const { strategy, hashes }: LoadBalancing = route.loadBalancerPolicy
      ? loadBalancing(route.loadBalancerPolicy, this.#reporter, this.#at)
      : { strategy: 'RoundRobin', hashes: [] };
    const resolved = resolveServices(
      this.#proxy,
      route.services ?? [],
      {
        strategy,
        healthCheck: route.healthCheckPolicy && httpHealthCheck(route.healthCheckPolicy),
        idleTimeout: timeouts.idleConnection,
        routeHost: request?.hostRewrite,
        cookies: route.cookieRewritePolicies ?? [],
        problemType: 'ServiceError',
        at: this.#at,
      },
      this.#context,
    );
    if (resolved.isBroken) return undefined;
    const perTry = route.retryPolicy && envoyTimeout(route.retryPolicy.perTryTimeout);
    if (perTry && !perTry.isOk)
      this.#warn(`retryPolicy.perTryTimeout: ${perTry.problem}; until then tries have no timeout of their own`);
    for (const [index, condition] of (route.retryPolicy?.retryOn ?? []).entries())
      if (!RETRY_CONDITIONS.has(condition))
        this.#warn(
          `retryPolicy.retryOn[${index}]: ${JSON.stringify(condition)} is not known and has no effect; use ${[...RETRY_CONDITIONS].join(', ')}`,
        );
    const { allowCrossSchemeRedirect: cross = 'Never', redirectResponseCodes = [] } =
      route.internalRedirectPolicy ?? {};
    const other = redirectResponseCodes.findIndex((code) => !REDIRECT_STATUSES.some((each) => each === code));
    if (other >= 0)
      return this.#fail(
        'InternalRedirectPolicyNotValid',
        `internalRedirectPolicy.redirectResponseCodes[${other}]: ${redirectResponseCodes[other] ?? ''} is no redirect; use 301, 302, 303, 307 or 308`,
      );
    if (cross !== 'Always' && cross !== 'Never' && cross !== 'SafeOnly')
      return this.#fail(
        'InternalRedirectPolicyNotValid',
        `internalRedirectPolicy.allowCrossSchemeRedirect: ${JSON.stringify(cross)} is not known; use Always, Never or SafeOnly`,
      );
    const action: Forward = {
      kind: 'forward',
      destinations: resolved.destinations,
      mirrors: resolved.mirror ? [resolved.mirror] : [],
      timeout: timeouts.response,
      idleTimeout: timeouts.idle,
      retries: route.retryPolicy && retries(route.retryPolicy),
      hostRewrite: request && hostRewrite(request),
      allowsWebsockets: route.enableWebsockets === true,
      hashes,
      rateLimits,
      internalRedirects: route.internalRedirectPolicy && {
        max: route.internalRedirectPolicy.maxInternalRedirects || undefined,
        statuses: redirectResponseCodes.length > 0 ? redirectResponseCodes : undefined,
        crossScheme: cross,
        deniesRepeatedRoutes: route.internalRedirectPolicy.denyRepeatedRouteRedirect === true,
      },
    };
    const rewritten = this.#rewritten(action, common);
    // The services are drained: the route has its errors all the same.
    const isDrained = resolved.destinations.every(({ weight }) => weight === 0);
    return rewritten && isDrained ? [this.#own(answer(503), common)] : rewritten;
  }

  #rewritten(action: Forward, common: CommonFields): OwnRoute[] | undefined {
    const { replacePrefix: rules, replaceRegex } = this.#route.pathRewritePolicy ?? {};
    if (replaceRegex) {
      if (rules?.length)
        return this.#fail(
          'PathRewritePolicyNotValid',
          'pathRewritePolicy: it has both replacePrefix and replaceRegex; keep one of them',
        );
      const rewrite = regexRewrite(replaceRegex);
      if (!rewrite.isOk)
        return this.#fail('PathRewritePolicyNotValid', `pathRewritePolicy.replaceRegex.${rewrite.problem}`);
      return [this.#own({ ...action, pathRewrite: rewrite.value }, common)];
    }
    const replacement = rules && prefixReplacement(rules, this.#match);
    if (!replacement) return [this.#own(action, common)];
    if (!replacement.isOk) {
      this.#reporter.error(
        'PrefixReplaceError',
        replacement.problem.reason,
        `${this.#at}.${replacement.problem.problem}`,
      );
      return undefined;
    }
    return expandReplacement(replacement.value, this.#siblings()).map(({ prefix, rewrite }) =>
      this.#own({ ...action, pathRewrite: { kind: 'prefix', value: rewrite } }, common, {
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
      if (timeoutPolicy[field] === undefined) continue;
      const timeout = envoyTimeout(timeoutPolicy[field]);
      if (!timeout.isOk) return this.#fail('TimeoutPolicyNotValid', `timeoutPolicy.${field}: ${timeout.problem}`);
      values[field] = timeout.value;
    }
    return { response: values['response'], idle: values['idle'], idleConnection: values['idleConnection'] };
  }
}

/** The limit of a route's own answer; Envoy refuses the whole host for a longer one. */
const MAX_BODY_BYTES = 4_096;

const REDIRECT_STATUSES: readonly RedirectStatus[] = [301, 302, 303, 307, 308];

/** Answers that HTTP sends without a body: one would be read as the start of the next answer. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** The conditions on which Envoy retries; it ignores any other. */
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
function retries({
  count = 0,
  perTryTimeout,
  retryOn,
  retriableStatusCodes,
}: NonNullable<ProxyRoute['retryPolicy']>): Retries {
  const timeout = envoyTimeout(perTryTimeout);
  return {
    on: retryOn?.length ? retryOn.join(',') : '5xx',
    count: count < 0 ? 0 : Math.max(count, 1),
    perTryTimeout: timeout.isOk ? timeout.value : undefined,
    statusCodes: retriableStatusCodes,
  };
}

function hostRewrite({ hostRewrite: value, hostRewriteHeader: name }: HeaderPolicy): HostRewrite | undefined {
  if (name !== undefined) return { kind: 'header', name };
  return value === undefined ? undefined : { kind: 'literal', value };
}

/** Returns the problem of a redirect that no client could follow. */
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
