// The virtual host of one name of a listener: the routes of all objects that serve it.
import { type Envoy, Fragment } from '../../envoy/index.ts';
import type { Policies } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';
import { matchId } from '../../routing/conditions.ts';
import { policiesMessage } from '../../routing/envoy/policy-message.ts';
import { type HostFragment, type SharedHost, sharedHost, VIRTUAL_HOST } from '../../routing/envoy/route-message.ts';

/** Orders routes by their precedence. The first of several routes with the same match counts. */
export function hostRoutes(
  routesName: string,
  host: string,
  routes: readonly Route[],
  policies: Policies = {},
): SharedHost {
  const served = firstOfEach(routes);
  const origins = served.map(({ origin }) => origin);
  return sharedHost(routesName, { fqdn: host, routes: served, policies, rateLimits: [], origins });
}

/** The first of routes that match the same, each with its precedence. */
export function firstOfEach(routes: readonly Route[]): Route[] {
  const byMatch = new Map<string, Route>();
  routes.forEach((route, priority) => {
    const id = matchId(route.match);
    if (!byMatch.has(id)) byMatch.set(id, { ...route, priority });
  });
  return [...byMatch.values()];
}

/** For names that belong to a listener without a route for them. */
export function emptyHost(host: string): HostFragment {
  return new Fragment(VIRTUAL_HOST, { name: `empty/${host}`, domains: [host], routes: [] }, true);
}

/**
 * For names that belong to another listener: the client reuses a connection that it must not use for them, and is not asked who it is.
 */
export function misdirectedHost(host: string, isAuthorized: boolean): HostFragment {
  const route: Envoy.Route = {
    match: { prefix: '/' },
    direct_response: { status: 421 },
    typed_per_filter_config: isAuthorized ? policiesMessage({ authorization: { kind: 'disabled' } }) : undefined,
  };
  return new Fragment(VIRTUAL_HOST, { name: `misdirected/${host}`, domains: [host], routes: [route] }, true);
}
