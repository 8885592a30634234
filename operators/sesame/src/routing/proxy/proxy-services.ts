// Services of a route: resolved to clusters, one by one. The problem of one is reported, and the others are used.
import { outlierProblems } from '../../configuration/index.ts';
import type { HTTPProxy, ProxyService } from '../../kinds/http-proxy.ts';
import type {
  BalancingStrategy,
  Cluster,
  HealthCheck,
  SlowStart,
  UpstreamProtocol,
  UpstreamValidation,
} from '../../model/cluster.ts';
import type { CookieRewrite } from '../../model/policy.ts';
import type { Destination, Mirror } from '../../model/route.ts';
import { accept, namesOf, type Reporter, type Result, refuse, reporterFor } from '../../result.ts';
import { compareBytes } from '../conditions.ts';
import { clusterViolations } from '../envoy/cluster-message.ts';
import { cookieProblem, mergeCookieRewrites } from '../envoy/cookie-rewrite.ts';
import {
  ignoredAnnotation,
  isDelegated,
  type Lookup,
  type ServicePortView,
  type ServiceView,
  secretReference,
} from '../lookup.ts';
import { headerChanges, headerPolicy, NO_HEADERS, withDefaultHeaders } from '../policy/header-policy.ts';
import { durationMs, seconds } from '../timeouts.ts';
import { outlierDetection } from '../upstream/outlier-detection.ts';
import { CA_CERT, caSecretProblem } from '../upstream/tls-secret.ts';
import {
  circuitBreakerMistakes,
  externalNameProblem,
  findPort,
  protocolOf,
  serviceCluster,
  type UpstreamOptions,
  upstreamName,
} from '../upstream/upstream.ts';
import type { CheckedCluster, RootContext } from './proxy-context.ts';

export interface ServiceOptions {
  readonly strategy: BalancingStrategy;
  readonly healthCheck: HealthCheck | undefined;
  readonly idleTimeout: string | undefined;
  /** Host rewrite of the route, which is the SNI of services without their own. */
  readonly routeHost: string | undefined;
  readonly cookies: readonly CookieRewrite[];
  readonly problemType: 'ServiceError' | 'TCPProxyError';
  /** The path of the object that has the services: `spec.routes[1]`. */
  readonly at: string;
}

/** A Service that requests or connections are sent to. */
export type ServiceDestination = Destination & { readonly cluster: Cluster };

export interface ResolvedServices {
  /** In the order of their names. */
  readonly destinations: readonly ServiceDestination[];
  readonly mirror: Mirror | undefined;
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
    reporter.error(
      'ServiceError',
      'OnlyOneMirror',
      `${options.at}.services: ${mirrors.length} services are mirrors; a route can have one`,
    );
    return BROKEN;
  }
  const weights = effectiveWeights(forwarded);
  const at = (service: ProxyService) => `${options.at}.services[${services.indexOf(service)}]`;
  const destinations: ServiceDestination[] = [];
  for (const [index, service] of forwarded.entries()) {
    const found = resolveService(proxy, service, weights[index] ?? 0, options, context, reporter, at(service));
    if (!found.isOk) return BROKEN;
    if (found.value) destinations.push(found.value);
  }
  const [mirrored] = mirrors;
  const copy = mirrored && resolveService(proxy, mirrored, 1, options, context, reporter, at(mirrored));
  const percent = mirrored?.weight ? Math.min(mirrored.weight, 100) : 100;
  return {
    destinations: destinations.sort(
      (left, right) => compareBytes(left.cluster.name, right.cluster.name) || left.weight - right.weight,
    ),
    mirror:
      copy?.isOk && copy.value
        ? { cluster: copy.value.cluster, share: percent < 100 ? { parts: percent, of: 100 } : undefined }
        : undefined,
    isBroken: false,
  };
}

const BROKEN: ResolvedServices = { destinations: [], mirror: undefined, isBroken: true };

/** Undefined when the Service is not there, which is reported; refused when its configuration is wrong, which is reported too. */
function resolveService(
  proxy: HTTPProxy,
  spec: ProxyService,
  weight: number,
  options: ServiceOptions,
  context: RootContext,
  reporter: Reporter,
  at: string,
): Result<ServiceDestination | undefined, undefined> {
  const { lookup, settings } = context;
  const { namespace } = namesOf(proxy);
  const fail = (reason: string, message: string) => {
    reporter.error('ServiceError', reason, `${at}${message}`);
    return refuse(undefined);
  };
  if (spec.port < 1 || spec.port > 65_535)
    return fail('ServicePortInvalid', `.port: ${spec.port} is no port; use a number from 1 to 65535`);
  const service = lookup.service(namespace, spec.name);
  const problem = service
    ? serviceProblem(service, spec, settings.enableExternalNameService)
    : `.name: Service ${namespace}/${spec.name} does not exist; create it or correct the name`;
  const port = service && findPort(service, spec.port);
  if (!service || !port || problem !== undefined) {
    reporter.error(options.problemType, 'ServiceUnresolvedReference', `${at}${problem ?? ''}`);
    return accept(undefined);
  }
  for (const annotation of service.ignored ?? [])
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `${at}.name: Service ${namespace}/${spec.name}: ${ignoredAnnotation(annotation)}`,
    );
  for (const [annotation, value] of circuitBreakerMistakes(service))
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `${at}.name: the annotation projectsesame.io/${annotation} of Service ${namespace}/${spec.name} is ${JSON.stringify(value)}, which is ignored; write a number above zero`,
    );
  if (spec.protocol !== undefined && !['h2', 'h2c', 'tls', ''].includes(spec.protocol))
    return fail(
      'UnsupportedProtocol',
      `.protocol: ${JSON.stringify(spec.protocol)} is not known; use h2, h2c or tls, or leave it out for HTTP/1.1`,
    );
  const protocol = (spec.protocol ? spec.protocol : protocolOf(service, port)) as UpstreamProtocol;

  const variables = { NAMESPACE: namespace, SERVICE_NAME: spec.name, SERVICE_PORT: String(spec.port) };
  const request =
    spec.requestHeadersPolicy && headerPolicy(spec.requestHeadersPolicy, { direction: 'request', variables });
  if (request && !request.isOk) return fail('RequestHeadersPolicyInvalid', `.requestHeadersPolicy.${request.problem}`);
  const response =
    spec.responseHeadersPolicy && headerPolicy(spec.responseHeadersPolicy, { direction: 'response', variables });
  if (response && !response.isOk)
    return fail('ResponseHeadersPolicyInvalid', `.responseHeadersPolicy.${response.problem}`);
  const { requestHeaders: defaults, responseHeaders: responseDefaults } = settings.policy;
  const requestHeaders = defaults
    ? withDefaultHeaders(request?.value ?? NO_HEADERS, defaults, { direction: 'request', variables })
    : request?.value;
  const responseHeaders = responseDefaults
    ? withDefaultHeaders(response?.value ?? NO_HEADERS, responseDefaults, { direction: 'response', variables })
    : response?.value;

  const cookies = spec.cookieRewritePolicies ?? [];
  const cookieError = cookies.length > 0 ? cookieProblem(cookies) : undefined;
  if (cookieError !== undefined) {
    reporter.error('RouteError', 'CookieRewritePoliciesInvalid', `${at}.${cookieError}`);
    return refuse(undefined);
  }
  const slowStart = spec.slowStartPolicy && readSlowStart(spec.slowStartPolicy);
  if (slowStart && !slowStart.isOk) return fail('SlowStartInvalid', `.slowStartPolicy.${slowStart.problem}`);
  if (slowStart && !['RoundRobin', 'WeightedLeastRequest'].includes(options.strategy))
    return fail(
      'SlowStartInvalid',
      '.slowStartPolicy: it needs the strategy RoundRobin or WeightedLeastRequest; change loadBalancerPolicy.strategy of the route, or remove it',
    );
  const [outlierProblem] = spec.outlierDetection ? outlierProblems(spec.outlierDetection) : [];
  if (outlierProblem)
    return fail('OutlierDetectionInvalid', `.outlierDetection.${outlierProblem.field}: ${outlierProblem.message}`);
  const validation = spec.validation && upstreamValidation(spec.validation, namespace, protocol, lookup, reporter, at);
  if (validation && !validation.isOk) return refuse(undefined);

  const origin = { kind: 'HTTPProxy', ...namesOf(proxy), path: at };
  const { cluster, refused } = checkedCluster(
    service,
    port,
    {
      protocol,
      strategy: options.strategy,
      healthCheck: options.healthCheck,
      healthPort: spec.healthPort,
      validation: validation?.value,
      clientCertificate: context.clientCertificate,
      sni: requestHeaders?.hostRewrite ?? options.routeHost ?? service.externalName ?? '',
      idleTimeout: options.idleTimeout,
      slowStart: slowStart?.value,
      outliers:
        spec.outlierDetection &&
        (outlierDetection(spec.outlierDetection, { ...origin, path: `${at}.outlierDetection` }) ?? null),
      origin,
    },
    context,
  );
  if (refused)
    return fail(
      'RefusedByEnvoy',
      `: Envoy would refuse its cluster (${refused.path} ${refused.problem}); correct the value that it comes from`,
    );
  return accept({
    cluster,
    weight,
    requestHeaders: requestHeaders && headerChanges(requestHeaders),
    responseHeaders: responseHeaders && headerChanges(responseHeaders),
    hostRewrite: requestHeaders?.hostRewrite,
    cookies: cookies.length > 0 ? mergeCookieRewrites(cookies, options.cookies) : undefined,
  });
}

function checkedCluster(
  service: ServiceView,
  port: ServicePortView,
  options: UpstreamOptions,
  { clusters, settings }: RootContext,
): CheckedCluster {
  const { namespace, name } = options.origin;
  const id = `${upstreamName(service, port, options)} ${namespace}/${name}`;
  let checked = clusters.get(id);
  if (!checked) {
    const cluster = serviceCluster(service, port, options, settings);
    checked = { cluster, refused: clusterViolations(cluster)[0] };
    clusters.set(id, checked);
  }
  return checked;
}

function serviceProblem(service: ServiceView, spec: ProxyService, isExternalNameEnabled: boolean): string | undefined {
  const external = externalNameProblem(service, isExternalNameEnabled);
  if (external !== undefined) return `.name: ${external}`;
  const where = `Service ${service.namespace}/${service.name}`;
  const ports = service.ports.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port);
  const known = ports.length === 0 ? 'give it one' : `use ${ports.join(' or ')}`;
  if (!findPort(service, spec.port)) return `.port: ${where} has no TCP port ${spec.port}; ${known}`;
  if (spec.healthPort !== undefined && !findPort(service, spec.healthPort))
    return `.healthPort: ${where} has no TCP port ${spec.healthPort}; ${known}`;
  return undefined;
}

function readSlowStart(spec: NonNullable<ProxyService['slowStartPolicy']>): Result<SlowStart> {
  const window = durationMs(spec.window);
  if (window === undefined)
    return refuse(`window: ${JSON.stringify(spec.window)} is not a duration; write one such as 30s`);
  if (window < 0) return refuse(`window: ${JSON.stringify(spec.window)} is negative; write a duration such as 30s`);
  const aggression = spec.aggression ?? '1.0';
  if (!/^(\d+(\.\d+)?|\.\d+)$/.test(aggression))
    return refuse(`aggression: ${JSON.stringify(aggression)} is not a number above 0; write one such as "1.0"`);
  return accept({
    window: seconds(window),
    aggression: Number(aggression),
    minWeightPercent: spec.minWeightPercent ?? 10,
  });
}

export function upstreamValidation(
  spec: NonNullable<ProxyService['validation']>,
  namespace: string,
  protocol: UpstreamProtocol,
  lookup: Lookup,
  reporter: Reporter,
  at: string,
): Result<UpstreamValidation | undefined, undefined> {
  if (protocol !== 'tls' && protocol !== 'h2') return accept(undefined);
  const ref = secretReference(spec.caSecret, namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace)) {
    reporter.error(
      'TLSError',
      'CACertificateNotDelegated',
      `${at}.validation.caSecret: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
    );
    return refuse(undefined);
  }
  const fail = (message: string) => {
    reporter.error('ServiceError', 'TLSUpstreamValidation', `${at}.validation.${message}`);
    return refuse(undefined);
  };
  const secret = lookup.secret(ref.namespace, ref.name);
  if (!secret) return fail(`caSecret: Secret ${where} does not exist; create it or correct the name`);
  const problem = caSecretProblem(secret);
  if (problem !== undefined) return fail(`caSecret: Secret ${where} cannot be used: ${problem}`);
  const subjectNames = spec.subjectNames ?? [spec.subjectName];
  if (spec.subjectName === '' || subjectNames.length === 0)
    return fail('subjectName: it is empty; write the name that the certificate of the service has');
  if (subjectNames[0] !== spec.subjectName)
    return fail(
      `subjectNames[0]: ${JSON.stringify(subjectNames[0] ?? '')} is not subjectName (${JSON.stringify(spec.subjectName)}); set them to the same value`,
    );
  return accept({ caName: where, ca: secret.data[CA_CERT] ?? Buffer.alloc(0), subjectNames });
}
