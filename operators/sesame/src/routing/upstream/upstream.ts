// From a Service and a port to a cluster.
import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { OutlierDetectionSpec } from '../../configuration/index.ts';
import type {
  BalancingStrategy,
  CircuitBreakers,
  Cluster,
  DnsFamily,
  HealthCheck,
  OutlierDetection,
  SlowStart,
  UpstreamProtocol,
  UpstreamTls,
  UpstreamValidation,
} from '../../model/cluster.ts';
import type { Origin } from '../../model/origin.ts';
import { hashName, healthCheckMessage, LB_POLICIES, outliersMessage } from '../envoy/cluster-message.ts';
import type { ServicePortView, ServiceView } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { settingTimeout } from '../timeouts.ts';
import { sharedOutlierDetection } from './outlier-detection.ts';

export interface UpstreamOptions {
  readonly protocol: UpstreamProtocol;
  /** Default: RoundRobin. */
  readonly strategy?: BalancingStrategy;
  readonly healthCheck?: HealthCheck | undefined;
  readonly healthPort?: number | undefined;
  readonly validation?: UpstreamValidation | undefined;
  /** SDS name of the certificate that Envoy shows. */
  readonly clientCertificate?: string | undefined;
  readonly sni?: string;
  readonly idleTimeout?: string | undefined;
  readonly slowStart?: SlowStart | undefined;
  /** Undefined: that of the configuration; null: none. */
  readonly outliers?: OutlierDetection | null | undefined;
  /** A part of the name, for a difference that no other option shows. */
  readonly variant?: string;
  readonly origin: Origin;
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

export function serviceCluster(
  service: ServiceView,
  port: ServicePortView,
  options: UpstreamOptions,
  settings: RoutingSettings,
): Cluster {
  const { namespace, name, externalName } = service;
  const { cluster } = settings.envoy;
  return {
    name: upstreamName(service, port, options),
    statName: `${namespace}_${name}_${port.port}`,
    service: { namespace, name, port: port.port },
    endpoints: externalName
      ? { kind: 'dns', host: externalName, port: port.port, family: dnsFamily(cluster.dnsLookupFamily) }
      : { kind: 'service', name: endpointsName(service, port.name) },
    connectTimeout: connectTimeout(settings),
    balancing: { strategy: options.strategy ?? 'RoundRobin', slowStart: options.slowStart },
    health: { panicPercent: 0, check: options.healthCheck },
    circuitBreakers: circuitBreakers(service, cluster.circuitBreakers),
    ...outlierField(options.outliers, cluster.outlierDetection),
    bufferLimitBytes: cluster.perConnectionBufferLimitBytes,
    protocol: options.protocol,
    idleTimeout: options.idleTimeout,
    maxRequestsPerConnection: cluster.maxRequestsPerConnection,
    tls: upstreamTls(options, settings),
    origin: options.origin,
  };
}

function outlierField(own: OutlierDetection | null | undefined, shared: OutlierDetectionSpec | undefined) {
  const outliers = own === undefined ? shared && sharedOutlierDetection(shared) : (own ?? undefined);
  return outliers && { outliers };
}

function connectTimeout(settings: RoutingSettings): string {
  let timeout = connectTimeouts.get(settings);
  if (timeout === undefined) {
    timeout = settingTimeout(settings.envoy.timeouts.connectTimeout) ?? '2s';
    connectTimeouts.set(settings, timeout);
  }
  return timeout;
}

/** Every cluster asks for it. */
const connectTimeouts = new WeakMap<RoutingSettings, string>();

/** Clusters that differ in nothing that is configured share their name. */
export function upstreamName(service: ServiceView, port: ServicePortView, options: UpstreamOptions): string {
  const {
    strategy = 'RoundRobin',
    healthCheck,
    validation,
    protocol,
    sni = '',
    idleTimeout = '',
    slowStart,
    healthPort,
    outliers,
    variant = '',
  } = options;
  const parts = [
    strategy === 'RoundRobin' ? '' : LB_POLICIES[strategy],
    healthCheck ? JSON.stringify(healthCheckMessage(healthCheck, false)) : '',
    validation ? validation.caName + [...validation.subjectNames, ...(validation.subjectUris ?? [])].join(',') : '',
    protocol,
    sni,
    idleTimeout,
    slowStart ? `${slowStart.window}${slowStart.aggression}${slowStart.minWeightPercent}` : '',
    healthPort === undefined || healthPort === port.port ? '' : String(healthPort),
    outliers === undefined ? '' : JSON.stringify(outliers && outliersMessage(outliers)),
    variant,
  ];
  return hashName(service.namespace, service.name, String(port.port), shortHash(parts.join('')));
}

export function dnsFamily(family: string | undefined): DnsFamily {
  return family === 'v4' || family === 'v6' || family === 'all' ? family : 'auto';
}

const BREAKERS = ['max-connections', 'max-pending-requests', 'max-requests', 'max-retries', 'per-host-max-connections'];

/** Annotations for circuit breakers that are no number. */
export function circuitBreakerMistakes({ annotations }: ServiceView): (readonly [annotation: string, value: string])[] {
  return BREAKERS.flatMap((name) => {
    const value = annotations[name];
    return value === undefined || (/^\d+$/.test(value) && Number(value) > 0) ? [] : [[name, value] as const];
  });
}

/** Annotations of the Service win over the configuration; undefined when there are no limits. */
export function circuitBreakers(
  service: ServiceView | undefined,
  defaults: CircuitBreakers | undefined,
): CircuitBreakers | undefined {
  const number = (annotation: string, fallback: number | undefined): number | undefined => {
    const text = service?.annotations[annotation];
    const value = text !== undefined && /^\d+$/.test(text) ? Number(text) : 0;
    return value > 0 ? value : fallback;
  };
  const limits: CircuitBreakers = {
    maxConnections: number('max-connections', defaults?.maxConnections),
    maxPendingRequests: number('max-pending-requests', defaults?.maxPendingRequests),
    maxRequests: number('max-requests', defaults?.maxRequests),
    maxRetries: number('max-retries', defaults?.maxRetries),
    perHostMaxConnections: number('per-host-max-connections', defaults?.perHostMaxConnections),
  };
  return Object.values(limits).some((value) => value !== undefined) ? limits : undefined;
}

/** Undefined for a protocol without TLS. */
export function upstreamTls(
  { protocol, validation, clientCertificate, sni = '' }: Omit<UpstreamOptions, 'origin'>,
  settings: RoutingSettings,
): UpstreamTls | undefined {
  if (protocol !== 'h2' && protocol !== 'tls') return undefined;
  return {
    sni: sni !== '' ? sni : undefined,
    validation,
    clientCertificate,
    parameters: settings.envoy.cluster.upstreamTLS,
  };
}

/** The first five bytes of the SHA-1, as hexadecimal. */
export function shortHash(text: string): string {
  if (text === '') return NOTHING;
  return hash('sha1', text, 'hex').slice(0, 10);
}

/** The digest of a cluster without options: most clusters have none. */
const NOTHING = hash('sha1', '', 'hex').slice(0, 10);
