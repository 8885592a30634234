// How HTTP is spoken with clients. One value of a configuration is shared by all listeners and filter chains.

import type { Compression, ErrorPage } from './policy.ts';

export interface HttpOptions {
  /** Undefined: the one that the client speaks. */
  readonly version: 'HTTP/1.1' | 'HTTP/2' | undefined;
  readonly idleTimeout: string | undefined;
  /** Undefined: connections live as long as they are used. */
  readonly maxConnectionDuration: string | undefined;
  readonly maxRequestsPerConnection: number | undefined;
  readonly maxConcurrentStreams: number | undefined;
  readonly requestTimeout: string | undefined;
  readonly streamIdleTimeout: string | undefined;
  readonly drainTimeout: string | undefined;
  readonly delayedCloseTimeout: string | undefined;
  readonly allowsChunkedLength: boolean;
  readonly mergesSlashes: boolean;
  readonly stripsTrailingHostDot: boolean;
  readonly serverHeader: 'overwrite' | 'append_if_absent' | 'pass_through';
  /** Proxies in front, whose reports of the address of the client are trusted. */
  readonly trustedHops: number;
  /** Undefined: answers are not compressed. */
  readonly compression: Compression | undefined;
  /** Pages for every host that has none of its own for a status. */
  readonly errorPages: readonly ErrorPage[];
  readonly rateLimits: RateLimitService | undefined;
  readonly tracing: Tracing | undefined;
}

/** The service that counts requests by the descriptors of routes. */
export interface RateLimitService {
  readonly cluster: string;
  readonly domain: string;
  /** Whether requests pass while the service does not answer. */
  readonly failOpen: boolean;
  /** Whether answers have X-RateLimit headers. */
  readonly hasHeaders: boolean;
  /** Whether gRPC clients get RESOURCE_EXHAUSTED instead of UNAVAILABLE. */
  readonly isResourceExhausted: boolean;
}

/** Spans of requests go to a service. */
export interface Tracing {
  readonly cluster: string;
  readonly serviceName: string;
  /** In percent. */
  readonly sampling: { readonly overall: number; readonly client: number; readonly random: number };
  readonly maxPathLength: number;
  readonly tags: readonly TraceTag[];
}

export type TraceTag = {
  readonly name: string;
  readonly kind: 'literal' | 'header' | 'environment';
  readonly value: string;
};
