// The map of served hosts: from listeners over hosts and routes to clusters and endpoints. It is plain JSON, for people and the console.
import type { ServicePort } from './cluster.ts';
import type { RouteMatch } from './match.ts';
import type { Origin } from './origin.ts';
import type { RouteAction } from './route.ts';

export interface RouteMap {
  readonly listeners: readonly MappedListener[];
}

export interface MappedListener {
  /** Envoy's name of it, or `LISTENER of Gateway NAMESPACE/NAME`. */
  readonly name: string;
  /** Where clients reach it: `0.0.0.0:8080`. */
  readonly address: string;
  readonly origin: Origin;
  readonly hosts: readonly MappedHost[];
}

export interface MappedHost {
  /** `*`: every name that no other host has. */
  readonly host: string;
  /** The objects that it was computed from. */
  readonly origins: readonly Origin[];
  /** Filters that a request passes, in order. */
  readonly filters: readonly string[];
  /** Effects of policies on all requests: `error page for 502, 503: HTTPProxy default/shop, spec.virtualhost.errorPages[0]`. */
  readonly effects: readonly string[];
  /** In the order in which Envoy looks. A host whose connections are passed on has one, without a match. */
  readonly routes: readonly MappedRoute[];
}

export interface MappedRoute {
  /** The match in a few words: `prefix /cart, header X-A`. */
  readonly text: string;
  /** Undefined: every connection. */
  readonly match: RouteMatch | undefined;
  readonly action: RouteAction['kind'] | 'stream';
  /** Its effect, where it sends to no cluster: `answers 502`. */
  readonly answer: string | undefined;
  /** Effects of its policies. */
  readonly effects: readonly string[];
  readonly clusters: readonly MappedCluster[];
  readonly origin: Origin | undefined;
}

export interface MappedCluster {
  readonly name: string;
  /** Undefined for a host outside the cluster. */
  readonly service: ServicePort | undefined;
  /** In percent; of a mirror, of the requests that are copied to it. */
  readonly share: number;
  readonly isMirror: boolean;
  /** Those that are ready: `10.0.0.1:8080`, or the name that Envoy resolves. */
  readonly endpoints: readonly string[];
  /** Effects of its policies, each with its field. */
  readonly effects: readonly string[];
  readonly origin: Origin;
}

/** A host of the map, before its routes are asked for. */
export interface HostSummary {
  readonly host: string;
  readonly listeners: readonly string[];
  readonly origins: readonly Origin[];
  /** The problems of its objects: `HTTPProxy default/shop: REASON: MESSAGE`. */
  readonly problems: readonly string[];
}
