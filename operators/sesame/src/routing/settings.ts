// The part of Sesame's configuration that decides about routes: the effective configuration has all of it, under the same names.
import type { EnvoyPatchSpec, ErrorPageSpec, OutlierDetectionSpec } from '../configuration/index.ts';
import type { ServedClasses } from './lookup.ts';

export interface RoutingSettings {
  readonly xdsServer: {
    readonly address: string;
    readonly port: number;
    readonly insecure: boolean;
    readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
  };
  readonly ingress: ServedClasses;
  readonly envoy: EnvoySettings;
  readonly httpproxy: {
    readonly disablePermitInsecure: boolean;
    readonly rootNamespaces?: readonly string[] | undefined;
    readonly fallbackCertificate?: ObjectName | undefined;
  };
  readonly enableExternalNameService: boolean;
  readonly globalExtAuth?: AuthorizationSettings | undefined;
  readonly rateLimitService?: RateLimitSettings | undefined;
  readonly policy: {
    readonly requestHeaders?: HeaderSettings | undefined;
    readonly responseHeaders?: HeaderSettings | undefined;
    readonly applyToIngress: boolean;
  };
  readonly tracing?: TracingSettings | undefined;
  readonly envoyPatches?: readonly EnvoyPatchSpec[] | undefined;
}

export interface ObjectName {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface HeaderSettings {
  readonly set?: Readonly<Record<string, string>> | undefined;
  readonly remove?: readonly string[] | undefined;
}

export interface EnvoySettings {
  readonly listener: ListenerSettings;
  readonly http: EndpointSettings;
  readonly https: EndpointSettings;
  readonly http3: { readonly enabled: boolean; readonly advertisedPort: number };
  readonly clientCertificate?: ObjectName | undefined;
  readonly network: {
    readonly numTrustedHops: number;
    readonly adminPort: number;
    readonly stripTrailingHostDot: boolean;
  };
  readonly logging: {
    readonly accessLogFormat: string;
    readonly accessLogFormatString: string;
    readonly jsonFields: readonly string[];
    readonly accessLogLevel: string;
  };
  readonly defaultHTTPVersions: readonly string[];
  readonly timeouts: {
    readonly requestTimeout?: string | undefined;
    readonly connectionIdleTimeout?: string | undefined;
    readonly streamIdleTimeout?: string | undefined;
    readonly maxConnectionDuration?: string | undefined;
    readonly delayedCloseTimeout?: string | undefined;
    readonly connectionShutdownGracePeriod?: string | undefined;
    readonly connectTimeout: string;
  };
  readonly cluster: ClusterSettings;
  readonly metrics: { readonly address: string; readonly port: number; readonly tls?: TlsFileSettings | undefined };
  readonly health: { readonly address: string; readonly port: number };
  readonly omEnforcedHealth?: { readonly address: string; readonly port?: number | undefined } | undefined;
  readonly runtimeSettings?: Readonly<Record<string, string>> | undefined;
  readonly errorPages?: readonly ErrorPageSpec[] | undefined;
}

export interface TlsFileSettings {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

export interface EndpointSettings {
  readonly address: string;
  readonly port: number;
  readonly accessLog: string;
}

export interface ListenerSettings {
  readonly useProxyProtocol: boolean;
  readonly disableAllowChunkedLength: boolean;
  readonly disableMergeSlashes: boolean;
  readonly serverHeaderTransformation: string;
  readonly connectionBalancer: string;
  readonly maxRequestsPerConnection?: number | undefined;
  readonly perConnectionBufferLimitBytes?: number | undefined;
  readonly maxRequestsPerIOCycle?: number | undefined;
  readonly httpMaxConcurrentStreams?: number | undefined;
  readonly maxConnectionsPerListener?: number | undefined;
  readonly maxConnectionsToAcceptPerSocketEvent?: number | undefined;
  readonly socketOptions?:
    | { readonly tos?: number | undefined; readonly trafficClass?: number | undefined }
    | undefined;
  readonly compression: { readonly algorithm: string };
  readonly tls: {
    readonly minimumProtocolVersion: string;
    readonly maximumProtocolVersion: string;
    readonly cipherSuites: readonly string[];
    readonly ecdhCurves?: readonly string[] | undefined;
    readonly fingerprint?: { readonly ja3: boolean; readonly ja4: boolean } | undefined;
  };
}

export interface ClusterSettings {
  readonly dnsLookupFamily: string;
  readonly maxRequestsPerConnection?: number | undefined;
  readonly perConnectionBufferLimitBytes?: number | undefined;
  readonly circuitBreakers?: CircuitBreakers | undefined;
  readonly outlierDetection?: OutlierDetectionSpec | undefined;
  readonly upstreamTLS: {
    readonly minimumProtocolVersion: string;
    readonly maximumProtocolVersion: string;
    readonly cipherSuites?: readonly string[] | undefined;
    readonly ecdhCurves?: readonly string[] | undefined;
  };
}

export interface CircuitBreakers {
  readonly maxConnections?: number | undefined;
  readonly maxPendingRequests?: number | undefined;
  readonly maxRequests?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly perHostMaxConnections?: number | undefined;
}

/** As HTTPProxy's virtualhost.authorization. */
export interface AuthorizationSettings {
  readonly extensionRef?:
    | {
        readonly apiVersion?: string | undefined;
        readonly name?: string | undefined;
        readonly namespace?: string | undefined;
      }
    | undefined;
  readonly serviceType?: string | undefined;
  readonly httpSettings?: object | undefined;
  readonly responseTimeout?: string | undefined;
  readonly failOpen?: boolean | undefined;
  readonly authPolicy?:
    | { readonly disabled?: boolean | undefined; readonly context?: Readonly<Record<string, string>> | undefined }
    | undefined;
  readonly withRequestBody?:
    | {
        readonly maxRequestBytes?: number | undefined;
        readonly allowPartialMessage?: boolean | undefined;
        readonly packAsBytes?: boolean | undefined;
      }
    | undefined;
}

export interface RateLimitSettings {
  /** NAMESPACE/NAME. */
  readonly extensionService?: string | undefined;
  readonly domain: string;
  readonly failOpen: boolean;
  readonly enableXRateLimitHeaders: boolean;
  readonly enableResourceExhaustedCode: boolean;
  readonly defaultGlobalRateLimitPolicy?: object | undefined;
}

export interface TracingSettings {
  readonly includePodDetail: boolean;
  readonly serviceName: string;
  readonly overallSampling: string;
  readonly clientSampling: string;
  readonly randomSampling: string;
  readonly maxPathTagLength: number;
  readonly customTags?:
    | readonly {
        readonly tagName: string;
        readonly literal?: string | undefined;
        readonly requestHeaderName?: string | undefined;
      }[]
    | undefined;
  readonly extensionService?: string | undefined;
}
