// Listeners and their filter chains: how connections are taken and decrypted, who may send requests, and where they go.
import type { SecretKey } from './certificate.ts';
import type { Cluster } from './cluster.ts';
import type { HttpOptions } from './http-options.ts';
import type { TextMatch } from './match.ts';
import type { Origin } from './origin.ts';

/** A socket of Envoy. */
export interface Listener {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** HTTP/3: connections are QUIC over UDP, and `tlsInspection` is not needed. */
  readonly isQuic?: boolean;
  /** Connections begin with the address of the client, as a load balancer writes it. */
  readonly hasProxyProtocol: boolean;
  /** Chains are chosen by the name that TLS asks for; undefined: there is one chain. */
  readonly tlsInspection: TlsInspection | undefined;
  /** Undefined: those of the operating system. */
  readonly socket: SocketSettings | undefined;
  readonly bufferLimitBytes?: number | undefined;
  readonly maxConnectionsPerEvent?: number | undefined;
  /** Whether each worker gets the same number of connections. */
  readonly isBalanced?: boolean;
  /** Connections are taken beyond the limit of all connections. */
  readonly ignoresConnectionLimit?: boolean;
  readonly origin: Origin;
}

export interface TlsInspection {
  /** Fingerprints of clients that are computed, for access logs. */
  readonly fingerprints: readonly ('ja3' | 'ja4')[];
}

/** Keep-alive is on. */
export interface SocketSettings {
  readonly typeOfService: number | undefined;
  readonly trafficClass: number | undefined;
}

/** Connections for one name. */
export interface FilterChain {
  /** `*`: every name that no other chain has; undefined: every connection. */
  readonly fqdn: string | undefined;
  readonly name?: string | undefined;
  /** Before the names of its statistics. */
  readonly statPrefix: string;
  /** Undefined: nothing is logged. */
  readonly accessLog?: AccessLog | undefined;
  readonly traffic: HttpTraffic | StreamTraffic | PagesTraffic;
  /** Undefined: TLS is passed through. */
  readonly tls: DownstreamTls | undefined;
  readonly origins: readonly Origin[];
}

export interface AccessLog {
  readonly path: string;
  readonly format: TextFormat | JsonFormat;
  /** Only answers with this status or a higher one; undefined: all. */
  readonly leastStatus: number | undefined;
}

export interface TextFormat {
  readonly kind: 'text';
  /** Empty: Envoy's own. */
  readonly text: string;
}

export interface JsonFormat {
  readonly kind: 'json';
  /** Formats by the names of fields. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Connections are decoded as HTTP. */
export interface HttpTraffic {
  readonly kind: 'http';
  /** Name of the route configuration. */
  readonly routes: string;
  readonly options: HttpOptions;
  /** True if it is HTTP/3. The version that the options name does not count then. */
  readonly isHttp3?: boolean;
  /** Clients without a session are sent to a provider first. */
  readonly login?: Login | undefined;
  readonly tokens?: TokenVerification | undefined;
  readonly authorization?: AuthorizationService | undefined;
  /** True if several hosts share the traffic. Each of them may have an authorization service of its own. */
  readonly isShared?: boolean;
  readonly forwardedCertificate?: ForwardedCertificate | undefined;
  /** Whether requests for another name than the connection was opened for are answered with 421. */
  readonly refusesMisdirected?: boolean;
  /** Whether every route may be upgraded. */
  readonly allowsWebsockets?: boolean;
}

/** Bytes are passed on without being decoded. */
export interface StreamTraffic {
  readonly kind: 'stream';
  readonly destinations: readonly StreamDestination[];
}

/** Pages of Envoy's own: statistics, readiness, and those for its administrator. */
export interface PagesTraffic {
  readonly kind: 'pages';
  readonly pages: readonly Page[];
}

export interface Page {
  readonly path: string;
  /** Undefined: every method. */
  readonly method?: 'GET';
}

export interface StreamDestination {
  readonly cluster: Pick<Cluster, 'name'>;
  readonly weight: number;
}

export interface DownstreamTls {
  /** SDS names. */
  readonly certificates: readonly string[];
  readonly minimumVersion: string;
  /** Undefined: the newest. */
  readonly maximumVersion: string | undefined;
  readonly cipherSuites?: readonly string[] | undefined;
  readonly ecdhCurves?: readonly string[] | undefined;
  /** Protocols that are offered to clients. */
  readonly protocols?: readonly string[];
  /** Undefined: clients are not asked for a certificate. */
  readonly clientValidation: ClientValidation | undefined;
  readonly requiresClientCertificate: boolean;
}

export interface ClientValidation {
  /** Certificates of authorities; undefined: any certificate is accepted. */
  readonly ca?: Buffer | undefined;
  /** SDS name of the authorities, in the place of `ca`. */
  readonly caSecret?: string;
  readonly acceptsUntrusted: boolean;
  readonly revocations?: RevocationList | undefined;
}

export interface RevocationList {
  readonly list: Buffer;
  /** Certificates of authorities are not looked up. */
  readonly isForLeafOnly: boolean;
}

/** Parts of the client's certificate that services get in a header. */
export interface ForwardedCertificate {
  readonly subject: boolean;
  readonly cert: boolean;
  readonly chain: boolean;
  readonly dns: boolean;
  readonly uri: boolean;
}

/** A service that decides about each request. */
export interface AuthorizationService {
  readonly cluster: string;
  readonly protocol: GrpcAuthorization | HttpAuthorization;
  /** Undefined: Envoy's default. */
  readonly timeout: string | undefined;
  /** Whether requests pass while the service does not answer. */
  readonly failOpen: boolean;
  /** The part of the body that the service gets; undefined: none. */
  readonly body: AuthorizationBody | undefined;
}

export interface GrpcAuthorization {
  readonly kind: 'grpc';
  readonly authority: string;
}

export interface HttpAuthorization {
  readonly kind: 'http';
  /** Before the path of the request; empty for none. */
  readonly pathPrefix: string;
  /** Headers of its answer that are passed on to the upstream. */
  readonly upstreamHeaders: readonly TextMatch[];
  /** Headers of the request that the service gets besides those that Envoy always sends. */
  readonly requestHeaders: readonly TextMatch[];
}

export interface AuthorizationBody {
  readonly maxBytes: number;
  readonly allowsPartial: boolean;
  readonly isSentAsBytes: boolean;
}

/** Providers of JSON web tokens, of which routes name the one that they require. */
export interface TokenVerification {
  readonly providers: readonly TokenProvider[];
}

export interface TokenProvider {
  readonly name: string;
  readonly issuer: string | undefined;
  readonly audiences: readonly string[] | undefined;
  /** Whether the upstream gets the token. */
  readonly forwardsToken: boolean;
  readonly keys: InlineKeys | RemoteKeys;
}

export interface InlineKeys {
  readonly kind: 'inline';
  /** A JSON web key set. */
  readonly keySet: string;
}

export interface RemoteKeys {
  readonly kind: 'remote';
  readonly uri: string;
  readonly cluster: Cluster;
  readonly timeout: string;
  readonly cacheDuration: string;
}

/** A provider of OpenID Connect, where clients log in. */
export interface Login {
  readonly authorizationEndpoint: string;
  readonly token: { readonly uri: string; readonly cluster: Cluster; readonly timeout: string };
  readonly clientId: string;
  /** Proves to the provider that it is this host. */
  readonly clientSecret: SecretKey;
  /** Signs and encrypts the cookies of sessions. */
  readonly cookieSecret: SecretKey;
  /** The provider sends clients back to it. */
  readonly callbackPath: string;
  readonly logoutPath: string;
  readonly scopes: readonly string[];
  /** True if services get the access token. */
  readonly forwardsToken: boolean;
  readonly origin: Origin;
}
