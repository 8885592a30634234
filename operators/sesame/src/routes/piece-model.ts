// The model of a piece, for `plan`: the values that its resources are translated from, by the keys of the resources. It is computed when a
// preview asks for it, and nothing of it is kept.
import type { Cluster } from '../model/cluster.ts';
import type { EndpointSet } from '../model/endpoints.ts';
import type { Route } from '../model/route.ts';
import { mergeHost } from '../routing/assembly/piece.ts';
import { inOrder } from '../routing/conditions.ts';
import { clusterKey } from '../routing/envoy/cluster-message.ts';
import { clustersOf, FALLBACK_ROUTES, HTTP_ROUTES, secureRoutesName } from '../routing/envoy/route-message.ts';
import { hostChain } from '../routing/listener/filter-chain.ts';
import type { HostContribution } from '../routing/proxy/translate-root.ts';
import type { RoutingSettings } from '../routing/settings.ts';

/** By the keys of resources; a filter chain by `chainKey`. */
export type PieceModel = Readonly<Record<string, object>>;

export const NO_MODEL: PieceModel = {};

/** The key of a filter chain in a model, which is no resource of its own. */
export function chainKey(name: string): string {
  return `chain/${name}`;
}

export function hostModel(fqdn: string, parts: readonly HostContribution[], settings: RoutingSettings): PieceModel {
  const host = mergeHost(fqdn, parts);
  if (!host) return NO_MODEL;
  const { plain, secure, policies, rateLimits } = host;
  const hostOf = (routes: readonly Route[]) => ({ routes: inOrder(routes), policies, rateLimits });
  const secureRoutes = secure?.routes ?? [];
  const used = [
    ...[...plain, ...secureRoutes].flatMap((route) => clustersOf(route)),
    ...(secure?.tcp ?? []).map(({ cluster }) => cluster),
    ...(secure?.jwt?.clusters ?? []),
  ];
  return {
    ...clusterModels(used),
    [`vhds/${HTTP_ROUTES}/${fqdn}`]: hostOf(plain),
    ...(secure && {
      [`rds/${secureRoutesName(fqdn)}`]: hostOf(secureRoutes),
      [`vhds/${FALLBACK_ROUTES}/${fqdn}`]: hostOf(secureRoutes),
      [chainKey(fqdn)]: hostChain(host, secure, settings),
    }),
  };
}

export function clusterModels(clusters: Iterable<Cluster>): PieceModel {
  return Object.fromEntries([...clusters].map((cluster) => [clusterKey(cluster), cluster]));
}

export function endpointModels(sets: readonly EndpointSet[]): PieceModel {
  return Object.fromEntries(sets.map((set) => [`eds/${set.name}`, set.groups]));
}
