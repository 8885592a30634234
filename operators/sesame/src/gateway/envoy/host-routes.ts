// The virtual host of one name of a listener: the routes of all objects that serve it.
import { type Envoy, Fragment, type PerFilter } from '../../envoy/index.ts';
import { type HostFragment, type SharedHost, sharedHost, VIRTUAL_HOST } from '../../routing/listener/virtual-host.ts';
import { authorizationDisabled } from '../../routing/policy/authorization.ts';
import { FILTER } from '../../routing/policy/filter-names.ts';
import { directResponse, matchId, type RouteEntry } from '../../routing/route-entry.ts';

/** Of routes that match the same the first counts; equally specific ones come in the order of their precedence. */
export function hostRoutes(
  routesName: string,
  host: string,
  entries: readonly RouteEntry[],
  perFilter: PerFilter = {},
): SharedHost {
  const byMatch = new Map<string, RouteEntry>();
  entries.forEach((entry, priority) => {
    const id = matchId(entry.match);
    if (!byMatch.has(id)) byMatch.set(id, { ...entry, priority });
  });
  return sharedHost(routesName, { fqdn: host, routes: [...byMatch.values()], perFilter, rateLimits: [] }, []);
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
    ...directResponse(421),
    typed_per_filter_config: isAuthorized ? { [FILTER.authorization]: authorizationDisabled() } : undefined,
  };
  return new Fragment(VIRTUAL_HOST, { name: `misdirected/${host}`, domains: [host], routes: [route] }, true);
}
