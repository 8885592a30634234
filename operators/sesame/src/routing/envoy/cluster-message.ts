// From a cluster of the model to Envoy's.
import { hash } from 'node:crypto';
import { interned } from '@capstan/kube';
import { type Choice, CONFIG_SOURCE, type Envoy, hasFields, typed, type Violation } from '../../envoy/index.ts';
import type {
  Balancing,
  BalancingStrategy,
  CircuitBreakers,
  Cluster,
  DnsEndpoints,
  DnsFamily,
  HealthCheck,
  OutlierDetection,
  ServiceEndpoints,
  TlsParameters,
  UpstreamTls,
  UpstreamValidation,
} from '../../model/cluster.ts';
import type { Origin } from '../../model/origin.ts';
import { createResource, type Resource, type ResourceKey, resourceKey } from '../../xds/index.ts';

export function clusterMessage(cluster: Cluster): Envoy.Cluster {
  const { name, statName, health, circuitBreakers, outliers, bufferLimitBytes, connectTimeout, balancing } = cluster;
  const { check } = health ?? {};
  return {
    name,
    alt_stat_name: statName,
    ...discovery(name, cluster.endpoints),
    connect_timeout: connectTimeout,
    lb_policy: balancing && LB_POLICIES[balancing.strategy],
    common_lb_config: health && {
      healthy_panic_threshold: { value: health.panicPercent },
      locality_weighted_lb_config: balancing?.isWeightedByService === true ? {} : undefined,
    },
    circuit_breakers: circuitBreakers && circuitBreakersMessage(circuitBreakers),
    outlier_detection: outliers && outliersMessage(outliers),
    health_checks: check && [healthCheckMessage(check, isHttp2(cluster))],
    ignore_health_on_host_removal: check && true,
    per_connection_buffer_limit_bytes: bufferLimitBytes,
    ...(balancing && slowStart(balancing)),
    ...protocolOptions(cluster),
    transport_socket: cluster.tls && upstreamTls(cluster.tls, cluster.protocol === 'h2'),
  };
}

/** The cluster as it is served. It is the same one each time that it is asked for. */
export function clusterResource(cluster: Cluster): Resource {
  let found = resources.get(cluster);
  if (!found) {
    const { name, endpoints, origin } = cluster;
    found = createResource({
      type: 'cds',
      name,
      value: clusterMessage(cluster),
      requires: endpoints.kind === 'service' ? [resourceKey('eds', endpoints.name)] : [],
      origins: originTexts([origin]),
    });
    resources.set(cluster, found);
  }
  return found;
}

const resources = new WeakMap<Cluster, Resource>();

/** Returns the violations that Envoy would refuse in the cluster. */
export function clusterViolations(cluster: Cluster): Violation[] {
  return clusterResource(cluster).violations();
}

export function clusterKey({ name }: Cluster): ResourceKey {
  return resourceKey('cds', name);
}

/** The objects that a problem with a resource is reported on, each once. */
export function originTexts(origins: readonly Omit<Origin, 'path'>[]): readonly string[] {
  const texts = origins.map(({ kind, namespace, name }) => interned(`${kind} ${namespace}/${name}`));
  return texts.length < 2 ? texts : [...new Set(texts)];
}

export const LB_POLICIES: Readonly<Record<BalancingStrategy, Envoy.ClusterLbPolicy>> = {
  RoundRobin: 'ROUND_ROBIN',
  WeightedLeastRequest: 'LEAST_REQUEST',
  Random: 'RANDOM',
  Hash: 'RING_HASH',
};

const DNS_FAMILIES: Readonly<Record<DnsFamily, Envoy.ClusterDnsLookupFamily>> = {
  auto: 'AUTO',
  v4: 'V4_ONLY',
  v6: 'V6_ONLY',
  all: 'ALL',
};

/** How the addresses of a cluster are found. */
type Discovery = Pick<Envoy.Cluster, 'type' | 'eds_cluster_config' | 'dns_lookup_family' | 'load_assignment'>;

function discovery(name: string, endpoints: ServiceEndpoints | DnsEndpoints): Discovery {
  if (endpoints.kind === 'service')
    return { type: 'EDS', eds_cluster_config: { eds_config: CONFIG_SOURCE, service_name: endpoints.name } };
  const { host, port, family } = endpoints;
  const address = { socket_address: { address: host, port_value: port } };
  return {
    type: family === 'all' ? 'LOGICAL_DNS' : 'STRICT_DNS',
    dns_lookup_family: DNS_FAMILIES[family],
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

function circuitBreakersMessage(breakers: CircuitBreakers): Envoy.CircuitBreakers {
  const threshold = {
    max_connections: breakers.maxConnections,
    max_pending_requests: breakers.maxPendingRequests,
    max_requests: breakers.maxRequests,
    max_retries: breakers.maxRetries,
  };
  const perHost = breakers.perHostMaxConnections;
  return {
    thresholds: hasFields(threshold) ? [{ ...threshold, track_remaining: true }] : undefined,
    per_host_thresholds: perHost !== undefined ? [{ max_connections: perHost, track_remaining: true }] : undefined,
  };
}

/** Only errors in a row count: Envoy would also compare the success rates of endpoints. */
export function outliersMessage(outliers: OutlierDetection): Envoy.OutlierDetection {
  const { serverErrors, localFailures, interval, baseEjection, maxEjection, maxPercent } = outliers;
  const isSplit = localFailures !== undefined;
  return {
    consecutive_5xx: serverErrors,
    enforcing_success_rate: 0,
    split_external_local_origin_errors: isSplit ? true : undefined,
    consecutive_local_origin_failure: localFailures,
    enforcing_local_origin_success_rate: isSplit ? 0 : undefined,
    interval,
    base_ejection_time: baseEjection,
    max_ejection_time: maxEjection,
    max_ejection_percent: maxPercent,
  };
}

export function healthCheckMessage(check: HealthCheck, isOverHttp2: boolean): Envoy.HealthCheck {
  const { http, timeout, interval, unhealthyThreshold, healthyThreshold } = check;
  return {
    timeout,
    interval,
    // Envoy's own is a minute: an endpoint that fails its first check, before the first request, would be out for as long.
    no_traffic_interval: interval,
    unhealthy_threshold: unhealthyThreshold,
    healthy_threshold: healthyThreshold,
    ...healthCheckRequest(http, isOverHttp2),
  };
}

function healthCheckRequest(
  http: HealthCheck['http'],
  isOverHttp2: boolean,
): Choice<Envoy.HealthCheck, 'http_health_check' | 'tcp_health_check'> {
  if (!http) return { tcp_health_check: {} };
  return {
    http_health_check: {
      path: http.path,
      host: http.host,
      expected_statuses: http.expectedStatuses,
      // A server of HTTP/2 alone would be ejected for probes of HTTP/1.
      codec_client_type: isOverHttp2 ? 'HTTP2' : undefined,
    },
  };
}

function slowStart({
  slowStart: spec,
  strategy,
}: Balancing): Choice<Envoy.Cluster, 'least_request_lb_config' | 'round_robin_lb_config'> {
  if (!spec) return {};
  const config: Envoy.ClusterRoundRobinLbConfig & Envoy.ClusterLeastRequestLbConfig = {
    slow_start_config: {
      slow_start_window: spec.window,
      aggression: { default_value: spec.aggression, runtime_key: 'sesame.slowstart.aggression' },
      min_weight_percent: { value: spec.minWeightPercent },
    },
  };
  return strategy === 'WeightedLeastRequest' ? { least_request_lb_config: config } : { round_robin_lb_config: config };
}

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

function isHttp2({ protocol }: Pick<Cluster, 'protocol'>): boolean {
  return protocol === 'h2' || protocol === 'h2c';
}

function protocolOptions({
  protocol,
  idleTimeout,
  maxRequestsPerConnection,
}: Cluster): Pick<Envoy.Cluster, 'typed_extension_protocol_options'> {
  const common: Envoy.CoreHttpProtocolOptions = {
    idle_timeout: idleTimeout,
    max_requests_per_connection: maxRequestsPerConnection,
  };
  if (!isHttp2({ protocol }) && !hasFields(common)) return {};
  return {
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: typed(HTTP_OPTIONS, {
        common_http_protocol_options: hasFields(common) ? common : undefined,
        explicit_http_config: isHttp2({ protocol }) ? { http2_protocol_options: {} } : { http_protocol_options: {} },
      }),
    },
  };
}

function upstreamTls(
  { sni, validation, clientCertificate, parameters }: UpstreamTls,
  isHttp2: boolean,
): Envoy.TransportSocket {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
      common_tls_context: {
        tls_params: tlsParameters(parameters),
        alpn_protocols: isHttp2 ? ['h2'] : undefined,
        tls_certificate_sds_secret_configs:
          clientCertificate === undefined ? undefined : [{ name: clientCertificate, sds_config: CONFIG_SOURCE }],
        validation_context: validation && validationContext(validation),
      },
      sni,
    }),
  };
}

/** Where the images of Envoy have the authorities that their distribution trusts. */
const SYSTEM_CAS = '/etc/ssl/certs/ca-certificates.crt';

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

export function tlsParameters({
  minimumProtocolVersion,
  maximumProtocolVersion,
  cipherSuites = [],
  ecdhCurves = [],
}: TlsParameters): Envoy.TlsParameters {
  return {
    tls_minimum_protocol_version: tlsVersion(minimumProtocolVersion),
    tls_maximum_protocol_version: maximumProtocolVersion === undefined ? undefined : tlsVersion(maximumProtocolVersion),
    cipher_suites: cipherSuites.length > 0 ? cipherSuites : undefined,
    ecdh_curves: ecdhCurves.length > 0 ? ecdhCurves : undefined,
  };
}

function tlsVersion(version: string): Envoy.TlsParametersTlsProtocol {
  return version === '1.3' ? 'TLSv1_3' : version === '1.2' ? 'TLSv1_2' : 'TLS_AUTO';
}

/** Names of clusters and virtual hosts are shorter than this, because Envoy's statistics are named by them. */
const MAX_NAME = 60;

/**
 * The parts, joined by slashes. Where that is too long, parts are shortened from the last one on, each with a piece of the
 * hash of the whole, until it fits.
 */
export function hashName(...parts: readonly string[]): string {
  const joined = parts.join('/');
  if (joined.length < MAX_NAME) return joined;
  const digest = hash('sha256', joined, 'hex');
  const shortened = [...parts];
  for (let index = parts.length - 1; index >= 0; index -= 1) {
    shortened[index] = truncate(Math.floor(MAX_NAME / parts.length), parts[index] ?? '', digest.slice(0, 6));
    const result = shortened.join('/');
    if (result.length < MAX_NAME) return result;
  }
  return digest.slice(0, MAX_NAME);
}

function truncate(length: number, text: string, suffix: string): string {
  if (text.length < length) return text;
  // Room for nothing but the suffix.
  if (length <= suffix.length) return suffix.slice(0, length);
  return `${text.slice(0, length - suffix.length - 1)}-${suffix}`;
}
