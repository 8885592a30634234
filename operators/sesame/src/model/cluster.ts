// Clusters: where requests are sent, in the words of Services and HTTPProxies.
import type { Origin } from './origin.ts';

export interface Cluster {
  /** Clusters that differ in nothing that is configured share their name. */
  readonly name: string;
  /** Name of its statistics; undefined: its name. */
  readonly statName: string | undefined;
  /** The Service and its port; undefined for a host outside the cluster. */
  readonly service: ServicePort | undefined;
  readonly endpoints: ServiceEndpoints | DnsEndpoints;
  readonly connectTimeout: string;
  /** Undefined: Envoy's default. */
  readonly balancing: Balancing | undefined;
  /** How Envoy counts endpoints that are not healthy; undefined: by its own default. */
  readonly health: ClusterHealth | undefined;
  readonly circuitBreakers: CircuitBreakers | undefined;
  /** Undefined: no endpoint is left out because of its answers. */
  readonly outliers?: OutlierDetection | undefined;
  readonly bufferLimitBytes: number | undefined;
  readonly protocol: UpstreamProtocol;
  readonly idleTimeout: string | undefined;
  readonly maxRequestsPerConnection: number | undefined;
  /** Undefined: connections are not encrypted. */
  readonly tls: UpstreamTls | undefined;
  readonly origin: Origin;
}

export interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** `''`: HTTP/1.1 without TLS. */
export type UpstreamProtocol = '' | 'h2' | 'h2c' | 'tls';

/** Endpoints that Sesame sends, by their name. */
export interface ServiceEndpoints {
  readonly kind: 'service';
  readonly name: string;
}

/** Endpoints that Envoy finds by DNS. */
export interface DnsEndpoints {
  readonly kind: 'dns';
  readonly host: string;
  readonly port: number;
  readonly family: DnsFamily;
}

export type DnsFamily = 'auto' | 'v4' | 'v6' | 'all';

export interface Balancing {
  readonly strategy: BalancingStrategy;
  readonly slowStart?: SlowStart | undefined;
  /** Endpoints have the weights of the Services that they belong to. */
  readonly isWeightedByService?: boolean;
}

export type BalancingStrategy = 'RoundRobin' | 'WeightedLeastRequest' | 'Random' | 'Hash';

export interface SlowStart {
  readonly window: string;
  readonly aggression: number;
  readonly minWeightPercent: number;
}

export interface ClusterHealth {
  /** Below this percentage of healthy endpoints Envoy uses all of them. */
  readonly panicPercent: number;
  readonly check: HealthCheck | undefined;
}

export interface HealthCheck {
  /** Undefined: a connection is enough. */
  readonly http: HttpHealthCheck | undefined;
  readonly timeout: string;
  readonly interval: string;
  readonly unhealthyThreshold: number;
  readonly healthyThreshold: number;
}

export interface HttpHealthCheck {
  readonly path: string;
  readonly host: string;
  /** Ranges without their ends; undefined: 200. */
  readonly expectedStatuses: readonly { readonly start: number; readonly end: number }[] | undefined;
}

/** Endpoints that answer with errors are left out for a while. */
export interface OutlierDetection {
  /** Errors in a row. Failed connections count too, unless they are counted by themselves. */
  readonly serverErrors: number;
  /** Failed connections and timeouts in a row, counted by themselves; undefined: as server errors. */
  readonly localFailures: number | undefined;
  /** Between two looks at the endpoints. */
  readonly interval: string;
  /** Multiplied by the times that the endpoint was left out. */
  readonly baseEjection: string;
  readonly maxEjection: string;
  /** The share of endpoints that may be left out at the same time. */
  readonly maxPercent: number;
  readonly origin: Origin;
}

export interface CircuitBreakers {
  readonly maxConnections?: number | undefined;
  readonly maxPendingRequests?: number | undefined;
  readonly maxRequests?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly perHostMaxConnections?: number | undefined;
}

export interface UpstreamTls {
  readonly sni: string | undefined;
  readonly validation: UpstreamValidation | undefined;
  /** SDS name of the certificate that Envoy shows. */
  readonly clientCertificate: string | undefined;
  readonly parameters: TlsParameters;
}

export interface UpstreamValidation {
  readonly caName: string;
  /** `system`: the authorities of Envoy's machine. */
  readonly ca: Buffer | 'system';
  readonly subjectNames: readonly string[];
  /** URIs that the certificate may have instead; none by default. */
  readonly subjectUris?: readonly string[];
}

export interface TlsParameters {
  readonly minimumProtocolVersion: string;
  /** Undefined: the newest. */
  readonly maximumProtocolVersion: string | undefined;
  readonly cipherSuites?: readonly string[] | undefined;
  readonly ecdhCurves?: readonly string[] | undefined;
}
