// From a Service and a port to an Envoy cluster.
import { isIP } from 'node:net';
import { type Choice, CONFIG_SOURCE, type Envoy, hasFields, typed } from '../../envoy/index.ts';
import { createResource, type Resource, resourceKey } from '../../xds/index.ts';
import type { ServicePortView, ServiceView } from '../lookup.ts';
import type { CircuitBreakers, RoutingSettings } from '../settings.ts';
import { settingTimeout } from '../timeouts.ts';
import { hashName, shortHash } from './envoy-names.ts';

export type UpstreamProtocol = '' | 'h2' | 'h2c' | 'tls';

export interface UpstreamOptions {
  readonly protocol: UpstreamProtocol;
  readonly lbPolicy?: Envoy.ClusterLbPolicy;
  readonly healthCheck?: Envoy.HealthCheck;
  readonly healthPort?: number | undefined;
  readonly validation?: UpstreamValidation | undefined;
  /** SDS name of the certificate that Envoy shows. */
  readonly clientCertificate?: string | undefined;
  readonly sni?: string;
  readonly idleTimeout?: string | undefined;
  readonly slowStart?: SlowStart | undefined;
  /** Part of the name, for what the other options do not distinguish. */
  readonly variant?: string;
  readonly origins?: readonly string[];
}

export interface UpstreamValidation {
  readonly caName: string;
  /** `system`: the authorities of Envoy's machine. */
  readonly ca: Buffer | 'system';
  readonly subjectNames: readonly string[];
  /** URIs that the certificate may have instead; none by default. */
  readonly subjectUris?: readonly string[];
}

/** Where the images of Envoy have the authorities that their distribution trusts. */
const SYSTEM_CAS = '/etc/ssl/certs/ca-certificates.crt';

export interface SlowStart {
  readonly window: string;
  readonly aggression: number;
  readonly minWeightPercent: number;
}

/** The port of a Service by its number; only TCP. */
export function findPort(service: ServiceView, port: number): ServicePortView | undefined {
  return service.ports.find((each) => each.port === port && each.protocol === 'TCP');
}

/** By appProtocol, else by annotations of the Service that list ports by name or number. */
export function protocolOf(service: ServiceView, port: ServicePortView): UpstreamProtocol {
  if (port.appProtocol !== undefined) {
    if (port.appProtocol === 'kubernetes.io/h2c') return 'h2c';
    return port.appProtocol === 'https' ? 'tls' : '';
  }
  for (const protocol of ['h2', 'h2c', 'tls'] as const) {
    const listed = service.annotations[`upstream-protocol.${protocol}`]?.split(',').map((each) => each.trim()) ?? [];
    if (listed.includes(port.name) || listed.includes(String(port.port))) return protocol;
  }
  return '';
}

/** Why an ExternalName may not be used; undefined when it may. */
export function externalNameProblem(service: ServiceView, isEnabled: boolean): string | undefined {
  const { externalName } = service;
  if (externalName === undefined || externalName === '') return undefined;
  const where = `${service.namespace}/${service.name}`;
  if (!isEnabled)
    return `Service ${where} is of type ExternalName, which is off; set enableExternalNameService in the SesameConfiguration, or use another Service`;
  const host = externalName.toLowerCase().replace(/\.$/, '');
  const isLocal =
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === 'localhost.localdomain' ||
    host === 'local.projectsesame.io';
  if (isLocal || isForbiddenAddress(host))
    return `Service ${where} is an ExternalName of this machine or link (${externalName}), which is not allowed; name another host`;
  return undefined;
}

function isForbiddenAddress(host: string): boolean {
  if (isIP(host) === 4) return /^(127|0|169\.254)\./.test(host);
  return isIP(host) === 6 && (/^(::1?|0*:0*.*:0*1?)$/.test(host) || /^fe[89ab]/.test(host));
}

export function endpointsName(service: { namespace: string; name: string }, portName: string): string {
  return [service.namespace, service.name, ...(portName === '' ? [] : [portName])].join('/');
}

export function upstreamResource(
  service: ServiceView,
  port: ServicePortView,
  options: UpstreamOptions,
  settings: RoutingSettings,
): Resource {
  const name = upstreamName(service, port, options);
  const edsName = endpointsName(service, port.name);
  const isExternal = service.externalName !== undefined && service.externalName !== '';
  const discovery: Discovery = isExternal
    ? externalDiscovery(name, service.externalName ?? '', port, settings)
    : { type: 'EDS', eds_cluster_config: { eds_config: CONFIG_SOURCE, service_name: edsName } };
  const breakers = circuitBreakers(service, settings.envoy.cluster.circuitBreakers);
  const { perConnectionBufferLimitBytes: buffer } = settings.envoy.cluster;
  return createResource({
    type: 'cds',
    name,
    value: {
      name,
      alt_stat_name: `${service.namespace}_${service.name}_${port.port}`,
      ...discovery,
      connect_timeout: settingTimeout(settings.envoy.timeouts.connectTimeout) ?? '2s',
      lb_policy: options.lbPolicy ?? 'ROUND_ROBIN',
      common_lb_config: { healthy_panic_threshold: { value: 0 } },
      circuit_breakers: breakers,
      health_checks: options.healthCheck ? [options.healthCheck] : undefined,
      ignore_health_on_host_removal: options.healthCheck ? true : undefined,
      per_connection_buffer_limit_bytes: buffer,
      ...slowStartConfig(options),
      ...protocolOptions(options, settings),
      ...transport(options, settings),
    },
    requires: isExternal ? [] : [resourceKey('eds', edsName)],
    origins: options.origins ?? [],
  });
}

/** Clusters that differ in nothing that is configured share their name. */
export function upstreamName(service: ServiceView, port: ServicePortView, options: UpstreamOptions): string {
  const {
    lbPolicy = '',
    healthCheck,
    validation,
    protocol,
    sni = '',
    idleTimeout = '',
    slowStart,
    healthPort,
    variant = '',
  } = options;
  const parts = [
    lbPolicy === 'ROUND_ROBIN' ? '' : lbPolicy,
    healthCheck ? JSON.stringify(healthCheck) : '',
    validation ? validation.caName + [...validation.subjectNames, ...(validation.subjectUris ?? [])].join(',') : '',
    protocol,
    sni,
    idleTimeout,
    slowStart ? `${slowStart.window}${slowStart.aggression}${slowStart.minWeightPercent}` : '',
    healthPort === undefined || healthPort === port.port ? '' : String(healthPort),
    variant,
  ];
  return hashName(service.namespace, service.name, String(port.port), shortHash(parts.join('')));
}

const DNS_FAMILIES: Readonly<Record<string, Envoy.ClusterDnsLookupFamily>> = {
  auto: 'AUTO',
  v4: 'V4_ONLY',
  v6: 'V6_ONLY',
  all: 'ALL',
};

export function dnsFamily(family: string | undefined): Envoy.ClusterDnsLookupFamily {
  return DNS_FAMILIES[family ?? 'auto'] ?? 'AUTO';
}

/** How the addresses of a cluster are found. */
type Discovery = Pick<Envoy.Cluster, 'type' | 'eds_cluster_config' | 'dns_lookup_family' | 'load_assignment'>;

function externalDiscovery(name: string, host: string, port: ServicePortView, settings: RoutingSettings): Discovery {
  const family = dnsFamily(settings.envoy.cluster.dnsLookupFamily);
  const address = { socket_address: { address: host, port_value: port.port } };
  return {
    type: family === 'ALL' ? 'LOGICAL_DNS' : 'STRICT_DNS',
    dns_lookup_family: family,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

const BREAKERS = ['max-connections', 'max-pending-requests', 'max-requests', 'max-retries', 'per-host-max-connections'];

/** Annotations for circuit breakers that are no number. */
export function circuitBreakerMistakes({ annotations }: ServiceView): (readonly [annotation: string, value: string])[] {
  return BREAKERS.flatMap((name) => {
    const value = annotations[name];
    return value === undefined || (/^\d+$/.test(value) && Number(value) > 0) ? [] : [[name, value] as const];
  });
}

export function circuitBreakers(
  service: ServiceView | undefined,
  defaults: CircuitBreakers | undefined,
): Envoy.CircuitBreakers | undefined {
  const number = (annotation: string, fallback: number | undefined): number | undefined => {
    const text = service?.annotations[annotation];
    const value = text !== undefined && /^\d+$/.test(text) ? Number(text) : 0;
    return value > 0 ? value : fallback;
  };
  const threshold = {
    max_connections: number('max-connections', defaults?.maxConnections),
    max_pending_requests: number('max-pending-requests', defaults?.maxPendingRequests),
    max_requests: number('max-requests', defaults?.maxRequests),
    max_retries: number('max-retries', defaults?.maxRetries),
  };
  const perHost = number('per-host-max-connections', defaults?.perHostMaxConnections);
  const isSet = Object.values(threshold).some((value) => value !== undefined);
  if (!isSet && perHost === undefined) return undefined;
  return {
    thresholds: isSet ? [{ ...threshold, track_remaining: true }] : undefined,
    per_host_thresholds: perHost !== undefined ? [{ max_connections: perHost, track_remaining: true }] : undefined,
  };
}

function slowStartConfig({
  slowStart,
  lbPolicy,
}: UpstreamOptions): Choice<Envoy.Cluster, 'least_request_lb_config' | 'round_robin_lb_config'> {
  if (!slowStart) return {};
  const config: Envoy.ClusterRoundRobinLbConfig & Envoy.ClusterLeastRequestLbConfig = {
    slow_start_config: {
      slow_start_window: slowStart.window,
      aggression: { default_value: slowStart.aggression, runtime_key: 'sesame.slowstart.aggression' },
      min_weight_percent: { value: slowStart.minWeightPercent },
    },
  };
  return lbPolicy === 'LEAST_REQUEST' ? { least_request_lb_config: config } : { round_robin_lb_config: config };
}

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

export function protocolOptions(
  { protocol, idleTimeout }: Pick<UpstreamOptions, 'protocol' | 'idleTimeout'>,
  settings: RoutingSettings,
): Pick<Envoy.Cluster, 'typed_extension_protocol_options'> {
  const { maxRequestsPerConnection: max } = settings.envoy.cluster;
  const common: Envoy.CoreHttpProtocolOptions = {
    idle_timeout: idleTimeout,
    max_requests_per_connection: max,
  };
  const isHttp2 = protocol === 'h2' || protocol === 'h2c';
  if (!isHttp2 && !hasFields(common)) return {};
  return {
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: typed(HTTP_OPTIONS, {
        common_http_protocol_options: hasFields(common) ? common : undefined,
        explicit_http_config: isHttp2 ? { http2_protocol_options: {} } : { http_protocol_options: {} },
      }),
    },
  };
}

export function transport(
  { protocol, validation, clientCertificate, sni = '' }: UpstreamOptions,
  settings: RoutingSettings,
): Pick<Envoy.Cluster, 'transport_socket'> {
  if (protocol !== 'h2' && protocol !== 'tls') return {};
  const context: Envoy.UpstreamTlsContext = {
    common_tls_context: {
      tls_params: tlsParameters(settings.envoy.cluster.upstreamTLS),
      alpn_protocols: protocol === 'h2' ? ['h2'] : undefined,
      tls_certificate_sds_secret_configs:
        clientCertificate === undefined ? undefined : [{ name: clientCertificate, sds_config: CONFIG_SOURCE }],
      validation_context: validation ? validationContext(validation) : undefined,
    },
    sni: sni !== '' ? sni : undefined,
  };
  return {
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', context),
    },
  };
}

function validationContext({
  ca,
  subjectNames,
  subjectUris = [],
}: UpstreamValidation): Envoy.CertificateValidationContext {
  const names: Envoy.SubjectAltNameMatcher[] = [
    ...subjectNames.map((exact) => ({ san_type: 'DNS', matcher: { exact } }) as const),
    ...subjectUris.map((exact) => ({ san_type: 'URI', matcher: { exact } }) as const),
  ];
  return {
    trusted_ca: ca === 'system' ? { filename: SYSTEM_CAS } : { inline_bytes: ca },
    match_typed_subject_alt_names: names.length > 0 ? names : undefined,
  };
}

export interface TlsSettings {
  readonly minimumProtocolVersion: string;
  readonly maximumProtocolVersion: string;
  readonly cipherSuites?: readonly string[] | undefined;
  readonly ecdhCurves?: readonly string[] | undefined;
}

export function tlsParameters({
  minimumProtocolVersion,
  maximumProtocolVersion,
  cipherSuites = [],
  ecdhCurves = [],
}: TlsSettings): Envoy.TlsParameters {
  return {
    tls_minimum_protocol_version: tlsVersion(minimumProtocolVersion),
    tls_maximum_protocol_version: tlsVersion(maximumProtocolVersion),
    cipher_suites: cipherSuites.length > 0 ? cipherSuites : undefined,
    ecdh_curves: ecdhCurves.length > 0 ? ecdhCurves : undefined,
  };
}

function tlsVersion(version: string): Envoy.TlsParametersTlsProtocol {
  return version === '1.3' ? 'TLSv1_3' : version === '1.2' ? 'TLSv1_2' : 'TLS_AUTO';
}
