// A route on its way to Envoy: what it matches, what it does, and what it needs.
import { type Choice, type Envoy, hasFields, type Violation, validate, type Without } from '../envoy/index.ts';
import type { Resource } from '../xds/index.ts';
import { envoyMatch, type RouteMatch } from './conditions.ts';
import { authorizationDisabled } from './policy/authorization.ts';
import { FILTER } from './policy/filter-names.ts';
import { compareBytes, compareRoutes } from './route-order.ts';

export interface RouteEntry {
  readonly match: RouteMatch;
  /** Of routes that are equally specific the lower comes first; default 0. */
  readonly priority?: number;
  /** The fields of Envoy's Route besides the match. */
  readonly value: RouteValue;
  readonly clusters: readonly Resource[];
  /** Of a host with TLS: served over plain HTTP too, instead of redirecting. */
  readonly permitInsecure: boolean;
}

/** Everything of Envoy's route but the match. */
export type RouteValue = Without<Envoy.Route, 'match'>;

export interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface WeightedUpstream {
  readonly cluster: Resource;
  readonly weight: number;
  /** Header policies and filters for this service alone. */
  readonly more: ServiceOptions;
}

/** Header policies and filters of one of several clusters. */
export type ServiceOptions = Without<Envoy.WeightedClusterClusterWeight, 'name' | 'weight'>;

/** Where requests go, by one cluster or several. */
export type ClusterAction = Choice<Envoy.RouteAction, 'cluster' | 'weighted_clusters'> &
  Pick<Envoy.RouteAction, 'cluster_not_found_response_code'>;

/** Where a request goes, by weights; undefined when none is above zero. */
export function clusterAction(upstreams: readonly WeightedUpstream[]): ClusterAction | undefined {
  const total = upstreams.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return undefined;
  const [only] = upstreams;
  if (upstreams.length === 1 && only && !hasFields(only.more)) return { cluster: only.cluster.name };
  const clusters = upstreams
    .map(({ cluster, weight, more }) => ({ name: cluster.name, weight, ...more }))
    .sort((left, right) => compareBytes(left.name, right.name) || left.weight - right.weight);
  return { weighted_clusters: { clusters } };
}

export function routeMetadata({ kind, namespace, name }: Origin): Pick<Envoy.Route, 'metadata'> {
  return {
    metadata: {
      filter_metadata: {
        'envoy.access_loggers.file': {
          'io.projectsesame.kind': kind,
          'io.projectsesame.namespace': namespace,
          'io.projectsesame.name': name,
        },
      },
    },
  };
}

export function directResponse(status: number, body = ''): Pick<Envoy.Route, 'direct_response'> {
  return { direct_response: { status, body: body !== '' ? { inline_string: body } : undefined } };
}

/** Sorted, and of routes that match the same the last one. */
export function envoyRoutes(entries: readonly RouteEntry[]): Envoy.Route[] {
  const byMatch = new Map<string, RouteEntry>();
  for (const entry of entries) byMatch.set(matchId(entry.match), entry);
  return [...byMatch.values()].sort(compareRoutes).map(({ match, value }) => ({ match: envoyMatch(match), ...value }));
}

/** What Envoy would refuse in the route. */
export function routeViolations({ match, value }: Pick<RouteEntry, 'match' | 'value'>): Violation[] {
  return validate('envoy.config.route.v3.Route', { match: envoyMatch(match), ...value });
}

export function matchId({ path, headers, query }: RouteMatch): string {
  return JSON.stringify([path, headers, query]);
}

/** On plain HTTP a host with TLS redirects, without asking the authorization service first. */
export function upgradeToHttps(entry: RouteEntry): RouteEntry {
  if (entry.permitInsecure) return entry;
  return {
    match: entry.match,
    ...(entry.priority !== undefined && { priority: entry.priority }),
    value: {
      redirect: { https_redirect: true },
      typed_per_filter_config: { [FILTER.authorization]: authorizationDisabled() },
    },
    clusters: [],
    permitInsecure: false,
  };
}
