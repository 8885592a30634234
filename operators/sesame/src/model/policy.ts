// Policies of routes and virtual hosts, each of which a filter of Envoy applies.
import type { AuthorizationService } from './listener.ts';
import type { HeaderMatch, TextMatch } from './match.ts';
import type { Origin } from './origin.ts';

/** An unset policy is inherited: by a route from its host, by a host from the listener. */
export interface Policies {
  readonly authorization?: AuthorizationPolicy | undefined;
  /** The service of a host that shares its listener. It takes the place of the listener's authorization. */
  readonly hostAuthorization?: HostAuthorization | undefined;
  /** Clients need not log in. */
  readonly needsNoLogin?: boolean;
  /** Name of the provider that must have signed the token. */
  readonly jwtProvider?: string | undefined;
  readonly addresses?: AddressPolicy | undefined;
  readonly cookies?: readonly CookieRewrite[] | undefined;
  readonly localRateLimit?: LocalRateLimit | undefined;
  /** The global limits of the host do not hold. */
  readonly ignoresHostRateLimits?: boolean;
  readonly cors?: CorsPolicy | undefined;
  readonly compression?: Compression | 'off' | undefined;
  /** Each status has one page at most. None in a list of a route: its answers keep their bodies. */
  readonly errorPages?: readonly ErrorPage[] | undefined;
}

/** How answers are compressed for clients that understand it. */
export type Compression = 'gzip' | 'brotli' | 'zstd';

/** An answer that takes the place of answers with some statuses. */
export interface ErrorPage {
  readonly statuses: readonly number[];
  /** True if it replaces answers of services too, and not only those of Envoy itself. */
  readonly replacesServices: boolean;
  readonly body: string;
  readonly contentType: string;
  /** Undefined: that of the answer. */
  readonly status: number | undefined;
  readonly origin: Origin;
}

export type AuthorizationPolicy =
  | { readonly kind: 'disabled' }
  /** Sent to the service that decides. */
  | { readonly kind: 'context'; readonly context: Readonly<Record<string, string>> };

/** The service that decides about each request of a host. */
export interface HostAuthorization {
  readonly service: AuthorizationService;
  readonly isDisabled: boolean;
  /** Sent to the service. */
  readonly context: Readonly<Record<string, string>>;
  readonly origin: Origin;
}

export interface AddressPolicy {
  readonly action: 'allow' | 'deny';
  readonly ranges: readonly AddressRange[];
}

export interface AddressRange {
  /** `Peer`: of the connection; `Remote`: of the client, as trusted proxies report it. */
  readonly source: 'Peer' | 'Remote';
  readonly address: string;
  readonly prefixLength: number;
}

export interface CookieRewrite {
  readonly name: string;
  readonly pathRewrite?: { readonly value: string } | undefined;
  readonly domainRewrite?: { readonly value: string } | undefined;
  readonly secure?: boolean | undefined;
  readonly sameSite?: string | undefined;
}

export interface LocalRateLimit {
  readonly statPrefix: string;
  readonly requests: number;
  readonly burst: number;
  readonly interval: string;
  /** The status of the answer; undefined: 429. */
  readonly status: number | undefined;
  readonly responseHeaders: readonly HeaderValue[];
}

/** All entries together are one key that requests are counted by. */
export type RateLimitDescriptor = readonly RateLimitEntry[];

export type RateLimitEntry =
  | { readonly kind: 'generic'; readonly key: string | undefined; readonly value: string }
  | { readonly kind: 'header'; readonly header: string; readonly key: string }
  | {
      readonly kind: 'headerMatch';
      readonly headers: readonly HeaderMatch[];
      readonly expectMatch: boolean;
      readonly value: string;
    }
  | { readonly kind: 'address' };

/** Texts are the values of the headers of the answer. */
export interface CorsPolicy {
  readonly allowOrigins: readonly TextMatch[];
  readonly allowCredentials: boolean;
  readonly allowPrivateNetwork?: boolean | undefined;
  /** Whether the service answers preflights of other origins; undefined: it does. */
  readonly forwardsOtherPreflights?: boolean | undefined;
  readonly allowMethods: string | undefined;
  readonly allowHeaders: string | undefined;
  readonly exposeHeaders: string | undefined;
  readonly maxAge: string | undefined;
}

export interface HeaderValue {
  readonly name: string;
  /** Percent signs are escaped, except for Envoy's substitutions. */
  readonly value: string;
}

export interface HeaderChanges {
  readonly set: readonly HeaderValue[];
  readonly add?: readonly HeaderValue[];
  readonly remove: readonly string[];
}
