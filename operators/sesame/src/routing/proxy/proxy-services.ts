// Services of a route: resolved to clusters, one by one; what is wrong with one is reported and the others are used.
import type { Message } from '../../envoy/index.ts';
import type { HTTPProxy, ProxyService } from '../../kinds/http-proxy.ts';
import type { Resource } from '../../xds/index.ts';
import { isDelegated, type Lookup, type ServiceView, secretReference } from '../lookup.ts';
import {
  type CookieRewrite,
  cookieProblem,
  cookieRewriteFilter,
  mergeCookieRewrites,
} from '../policy/cookie-rewrite.ts';
import { FILTER } from '../policy/filter-names.ts';
import { envoyHeaders, hasHeaders, headerPolicy, withDefaultHeaders } from '../policy/header-policy.ts';
import { durationMs, seconds } from '../policy/timeouts.ts';
import type { Reporter } from '../problems.ts';
import type { WeightedUpstream } from '../route-entry.ts';
import { CA_CERT, caSecretProblem } from '../upstream/tls-secret.ts';
import {
  externalNameProblem,
  findPort,
  protocolOf,
  type SlowStart,
  type UpstreamProtocol,
  type UpstreamValidation,
  upstreamResource,
} from '../upstream/upstream.ts';
import { namesOf, type RootContext, reporterFor } from './proxy-context.ts';

export interface ServiceOptions {
  readonly lbPolicy: string;
  readonly healthCheck: Message | undefined;
  readonly idleTimeout: string | undefined;
  /** Host rewrite of the route, which is the SNI of services without their own. */
  readonly routeHost: string | undefined;
  readonly cookies: readonly CookieRewrite[];
  readonly problemType: 'ServiceError' | 'TCPProxyError';
}

export interface ResolvedServices {
  readonly upstreams: readonly WeightedUpstream[];
  readonly mirror: { readonly cluster: Resource; readonly percent: number } | undefined;
  /** Errors that make the route as a whole unusable. */
  readonly isBroken: boolean;
}

/** Absent weights: all absent is an even split; where some are given, absent counts zero. */
export function effectiveWeights(services: readonly { readonly weight?: number | undefined }[]): number[] {
  const isAbsent = services.every(({ weight }) => weight === undefined);
  return services.map(({ weight }) => (isAbsent ? 1 : (weight ?? 0)));
}

export function resolveServices(
  proxy: HTTPProxy,
  services: readonly ProxyService[],
  options: ServiceOptions,
  context: RootContext,
): ResolvedServices {
  const reporter = reporterFor(context, proxy);
  const forwarded = services.filter(({ mirror }) => mirror !== true);
  const mirrors = services.filter(({ mirror }) => mirror === true);
  if (mirrors.length > 1) {
    reporter.error('ServiceError', 'OnlyOneMirror', 'only one service per route may be nominated as mirror');
    return { upstreams: [], mirror: undefined, isBroken: true };
  }
  const weights = effectiveWeights(forwarded);
  const upstreams: WeightedUpstream[] = [];
  for (const [index, service] of forwarded.entries()) {
    const upstream = resolveService(proxy, service, weights[index] ?? 0, options, context, reporter);
    if (upstream === 'broken') return { upstreams: [], mirror: undefined, isBroken: true };
    if (upstream) upstreams.push(upstream);
  }
  const [mirrored] = mirrors;
  const copy = mirrored && resolveService(proxy, mirrored, 1, options, context, reporter);
  const percent = mirrored?.weight ? Math.min(mirrored.weight, 100) : 100;
  return {
    upstreams,
    mirror: copy && copy !== 'broken' ? { cluster: copy.cluster, percent } : undefined,
    isBroken: false,
  };
}

/** Undefined when the Service is not there, which is reported; 'broken' when its configuration is wrong. */
function resolveService(
  proxy: HTTPProxy,
  spec: ProxyService,
  weight: number,
  options: ServiceOptions,
  context: RootContext,
  reporter: Reporter,
): WeightedUpstream | 'broken' | undefined {
  const { lookup, settings } = context;
  const { namespace } = namesOf(proxy);
  const fail = (reason: string, message: string): 'broken' => {
    reporter.error('ServiceError', reason, message);
    return 'broken';
  };
  if (spec.port < 1 || spec.port > 65_535)
    return fail('ServicePortInvalid', `service ${JSON.stringify(spec.name)}: port must be in the range 1-65535`);
  const service = lookup.service(namespace, spec.name);
  const problem = service
    ? serviceProblem(service, spec, settings.enableExternalNameService)
    : `service "${namespace}/${spec.name}" not found`;
  const port = service && findPort(service, spec.port);
  if (!service || !port || problem !== undefined) {
    const prefix = options.problemType === 'ServiceError' ? 'Spec.Routes' : 'Spec.TCPProxy';
    reporter.error(
      options.problemType,
      'ServiceUnresolvedReference',
      `${prefix} unresolved service reference: ${problem ?? ''}`,
    );
    return undefined;
  }
  if (spec.protocol !== undefined && !['h2', 'h2c', 'tls', ''].includes(spec.protocol))
    return fail('UnsupportedProtocol', `unsupported protocol: ${spec.protocol}`);
  const protocol = (spec.protocol ? spec.protocol : protocolOf(service, port)) as UpstreamProtocol;

  const variables = { NAMESPACE: namespace, SERVICE_NAME: spec.name, SERVICE_PORT: String(spec.port) };
  const request = headerPolicy(spec.requestHeadersPolicy, { direction: 'request', variables });
  if ('problem' in request) return fail('RequestHeadersPolicyInvalid', `${request.problem} on request headers`);
  const response = headerPolicy(spec.responseHeadersPolicy, { direction: 'response', variables });
  if ('problem' in response) return fail('ResponseHeadersPolicyInvalid', `${response.problem} on response headers`);
  const requestHeaders = withDefaultHeaders(request, settings.policy.requestHeaders, {
    direction: 'request',
    variables,
  });
  const responseHeaders = withDefaultHeaders(response, settings.policy.responseHeaders, {
    direction: 'response',
    variables,
  });

  const cookies = spec.cookieRewritePolicies ?? [];
  const cookieError = cookieProblem(cookies);
  if (cookieError !== undefined) {
    reporter.error('RouteError', 'CookieRewritePoliciesInvalid', `${cookieError} on service cookie rewrite rules`);
    return 'broken';
  }
  const slowStart = spec.slowStartPolicy && readSlowStart(spec.slowStartPolicy);
  if (slowStart && 'problem' in slowStart)
    return fail('SlowStartInvalid', `slowStartPolicy is invalid: ${slowStart.problem}`);
  if (slowStart && !['ROUND_ROBIN', 'LEAST_REQUEST'].includes(options.lbPolicy))
    return fail(
      'SlowStartInvalid',
      'slow start is only supported with RoundRobin or WeightedLeastRequest load balancer strategy',
    );
  const validation = spec.validation && upstreamValidation(spec.validation, namespace, protocol, lookup, reporter);
  if (validation === 'broken') return 'broken';

  const cluster = upstreamResource(
    service,
    port,
    {
      protocol,
      lbPolicy: options.lbPolicy,
      ...(options.healthCheck && { healthCheck: options.healthCheck }),
      healthPort: spec.healthPort,
      validation: validation ?? undefined,
      clientCertificate: context.clientCertificate,
      sni: requestHeaders.hostRewrite ?? options.routeHost ?? service.externalName ?? '',
      idleTimeout: options.idleTimeout,
      slowStart: slowStart ?? undefined,
      origins: [`HTTPProxy ${namespace}/${proxy.metadata.name}`],
    },
    settings,
  );
  const [refused] = cluster.violations();
  if (refused)
    return fail(
      'RefusedByEnvoy',
      `service ${JSON.stringify(spec.name)}: Envoy would refuse its cluster: ${refused.path} ${refused.problem}`,
    );
  const ownCookies =
    cookies.length > 0
      ? {
          typed_per_filter_config: { [FILTER.lua]: cookieRewriteFilter(mergeCookieRewrites(cookies, options.cookies)) },
        }
      : {};
  const more = {
    ...(hasHeaders(requestHeaders) && envoyHeaders(requestHeaders, 'request')),
    ...(hasHeaders(responseHeaders) && envoyHeaders(responseHeaders, 'response')),
    ...(requestHeaders.hostRewrite !== undefined && { host_rewrite_literal: requestHeaders.hostRewrite }),
    ...ownCookies,
  };
  return { cluster, weight, more };
}

function serviceProblem(service: ServiceView, spec: ProxyService, isExternalNameEnabled: boolean): string | undefined {
  const external = externalNameProblem(service, isExternalNameEnabled);
  if (external !== undefined) return external;
  const where = `"${service.namespace}/${service.name}"`;
  if (!findPort(service, spec.port)) return `port "${spec.port}" on service ${where} not matched`;
  if (spec.healthPort !== undefined && !findPort(service, spec.healthPort))
    return `health port "${spec.healthPort}" on service ${where} not matched`;
  return undefined;
}

function readSlowStart(spec: NonNullable<ProxyService['slowStartPolicy']>): SlowStart | { problem: string } {
  const window = durationMs(spec.window);
  if (window === undefined) return { problem: `window ${JSON.stringify(spec.window)} is not a duration` };
  const aggression = Number(spec.aggression ?? '1.0');
  if (!Number.isFinite(aggression)) return { problem: `aggression ${JSON.stringify(spec.aggression)} is not a number` };
  return { window: seconds(window), aggression, minWeightPercent: spec.minWeightPercent ?? 10 };
}

export function upstreamValidation(
  spec: NonNullable<ProxyService['validation']>,
  namespace: string,
  protocol: UpstreamProtocol,
  lookup: Lookup,
  reporter: Reporter,
): UpstreamValidation | 'broken' | undefined {
  if (protocol !== 'tls' && protocol !== 'h2') return undefined;
  const ref = secretReference(spec.caSecret, namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace)) {
    reporter.error(
      'TLSError',
      'CACertificateNotDelegated',
      `service.UpstreamValidation.CACertificate Secret ${JSON.stringify(where)} is not configured for certificate delegation`,
    );
    return 'broken';
  }
  const fail = (message: string): 'broken' => {
    reporter.error('ServiceError', 'TLSUpstreamValidation', `TLS upstream validation policy error: ${message}`);
    return 'broken';
  };
  const secret = lookup.secret(ref.namespace, ref.name);
  if (!secret) return fail(`invalid CA Secret ${JSON.stringify(where)}: Secret not found`);
  const problem = caSecretProblem(secret);
  if (problem !== undefined) return fail(`invalid CA Secret ${JSON.stringify(where)}: ${problem}`);
  const subjectNames = spec.subjectNames ?? [spec.subjectName];
  if (spec.subjectName === '' || subjectNames.length === 0) return fail('missing subject alternative name');
  if (subjectNames[0] !== spec.subjectName)
    return fail(
      `first entry of SubjectNames (${subjectNames[0] ?? ''}) does not match SubjectName (${spec.subjectName})`,
    );
  return { caName: where, ca: secret.data[CA_CERT] ?? Buffer.alloc(0), subjectNames };
}
