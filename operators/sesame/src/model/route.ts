// Routes: the requests that each matches, and their handling.
import type { Cluster } from './cluster.ts';
import type { RouteMatch } from './match.ts';
import type { Origin } from './origin.ts';
import type { CookieRewrite, HeaderChanges, Policies, RateLimitDescriptor } from './policy.ts';

export interface Route {
  readonly match: RouteMatch;
  /** Among equally specific routes the lower priority comes first; default 0. */
  readonly priority?: number;
  readonly action: RouteAction;
  readonly requestHeaders?: HeaderChanges | undefined;
  readonly responseHeaders?: HeaderChanges | undefined;
  readonly policies: Policies;
  /** For a host with TLS: served over plain HTTP too, instead of redirecting. */
  readonly permitInsecure: boolean;
  readonly origin: Origin;
}

export type RouteAction = Forward | Redirect | Answer | UpgradeToHttps;

/** Requests go to clusters, by weights. */
export interface Forward {
  readonly kind: 'forward';
  readonly destinations: readonly Destination[];
  /** Status of the answer where a destination has no cluster; undefined: Envoy's own. */
  readonly statusWithoutCluster?: 500 | undefined;
  readonly mirrors: readonly Mirror[];
  readonly timeout: string | undefined;
  readonly idleTimeout?: string | undefined;
  readonly retries?: Retries | undefined;
  readonly hostRewrite?: HostRewrite | undefined;
  readonly pathRewrite?: PathRewrite | undefined;
  readonly allowsWebsockets?: boolean;
  /** Requests with the same hash go to the same endpoint. */
  readonly hashes: readonly HashSource[];
  readonly rateLimits: readonly RateLimitDescriptor[];
  readonly internalRedirects?: InternalRedirects | undefined;
}

export interface Destination {
  /** Undefined: it cannot be used, and its share of the requests is answered. */
  readonly cluster: Cluster | undefined;
  readonly weight: number;
  readonly requestHeaders?: HeaderChanges | undefined;
  readonly responseHeaders?: HeaderChanges | undefined;
  readonly hostRewrite?: string | undefined;
  readonly cookies?: readonly CookieRewrite[] | undefined;
}

export interface Mirror {
  readonly cluster: Cluster;
  /** Undefined: all requests. */
  readonly share: Share | undefined;
}

export interface Share {
  readonly parts: number;
  readonly of: 100 | 1_000_000;
}

export interface Retries {
  /** Conditions, separated by commas. */
  readonly on: string | undefined;
  readonly count: number;
  readonly perTryTimeout: string | undefined;
  readonly statusCodes?: readonly number[] | undefined;
  readonly backoff?: string | undefined;
}

export type HostRewrite =
  | { readonly kind: 'literal'; readonly value: string }
  | { readonly kind: 'header'; readonly name: string };

export type PathRewrite =
  | { readonly kind: 'prefix'; readonly value: string }
  | { readonly kind: 'regex'; readonly pattern: string; readonly substitution: string };

export type HashSource =
  | { readonly kind: 'cookie'; readonly name: string; readonly ttl: string; readonly path: string }
  | { readonly kind: 'header'; readonly name: string; readonly isTerminal?: boolean }
  | { readonly kind: 'query'; readonly name: string; readonly isTerminal?: boolean }
  | { readonly kind: 'address'; readonly isTerminal?: boolean };

export interface InternalRedirects {
  readonly max: number | undefined;
  readonly statuses: readonly number[] | undefined;
  readonly crossScheme: 'Always' | 'Never' | 'SafeOnly';
  readonly deniesRepeatedRoutes: boolean;
}

export interface Redirect {
  readonly kind: 'redirect';
  readonly scheme: string | undefined;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly path: { readonly kind: 'full'; readonly value: string } | PathRewrite | undefined;
  readonly status: RedirectStatus;
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308;

/** Envoy answers itself. */
export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly body: string;
}

/** Plain HTTP of a host with TLS: the client is sent to HTTPS. */
export interface UpgradeToHttps {
  readonly kind: 'upgrade';
}
