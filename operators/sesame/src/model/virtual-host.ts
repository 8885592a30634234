import type { Origin } from './origin.ts';
import type { Policies, RateLimitDescriptor } from './policy.ts';
import type { Route } from './route.ts';

/** The routes of one name, with the policies that hold for all of them. */
export interface VirtualHost {
  /** `*`: every name that no other host has. */
  readonly fqdn: string;
  /** In any order: the translation sorts them by their matches. */
  readonly routes: readonly Route[];
  readonly policies: Policies;
  readonly rateLimits: readonly RateLimitDescriptor[];
  /** True if clients log in before requests pass. */
  readonly hasLogin?: boolean;
  /** The port at which clients are offered HTTP/3; undefined: they are not. */
  readonly http3Port?: number | undefined;
  /** The objects that it was computed from. */
  readonly origins: readonly Origin[];
}
