// What the objects of one host add up to.
import type { Resource } from '../../xds/index.ts';
import { hostChain } from '../listener/filter-chain.ts';
import { clusterKeys, FALLBACK_ROUTES, HTTP_ROUTES, secureRoutes, sharedHost } from '../listener/virtual-host.ts';
import type { HostContribution, SecureContribution } from '../proxy/translate-root.ts';
import type { RoutingSettings } from '../settings.ts';
import { Piece, type PieceContent } from './piece.ts';

/** Parts in the order of their weight: of routes that match the same the last one counts. */
export function hostPiece(
  fqdn: string,
  parts: readonly HostContribution[],
  secrets: readonly Resource[],
  settings: RoutingSettings,
): Piece {
  if (parts.length === 0) return new Piece({});
  const routes = parts.flatMap(({ plain }) => plain);
  const perFilter = Object.assign({}, ...parts.map((part) => part.perFilter)) as HostContribution['perFilter'];
  const rateLimits = parts.flatMap((part) => part.rateLimits);
  const [first, ...others] = parts;
  const origins = others.length === 0 && first ? first.origins : parts.flatMap((part) => part.origins);
  const merged: HostContribution = {
    fqdn,
    plain: routes,
    secure: mergeSecure(parts),
    perFilter,
    rateLimits,
    origins,
  };
  const resources = new Map<string, Resource>();
  const add = (resource: Resource) => resources.set(resource.key, resource);
  for (const secret of secrets) add(secret);
  for (const route of routes) route.clusters.forEach(add);

  let plain: PieceContent['plain'];
  if (routes.length > 0) {
    const { fragment, resource } = sharedHost(HTTP_ROUTES, { fqdn, routes, perFilter, rateLimits }, origins);
    add(resource);
    plain = { name: fqdn, fragment, requires: clusterKeys(routes) };
  }
  const { secure } = merged;
  let chain: PieceContent['chain'];
  let fallback: PieceContent['fallback'];
  if (secure && (secure.tcp || secure.routes.length > 0)) {
    for (const route of secure.routes) route.clusters.forEach(add);
    for (const { cluster } of secure.tcp ?? []) add(cluster);
    secure.jwt?.clusters.forEach(add);
    if (!secure.tcp) add(secureRoutes(merged, secure.routes));
    const requires = secure.tcp ? secure.tcp.map(({ cluster }) => cluster.key) : clusterKeys(secure.routes);
    chain = { name: fqdn, fragment: hostChain(merged, secure, settings), requires };
    if (secure.tls?.fallback) {
      const shared = sharedHost(FALLBACK_ROUTES, { fqdn, routes: secure.routes, perFilter, rateLimits }, origins);
      add(shared.resource);
      fallback = { name: fqdn, fragment: shared.fragment, requires };
    }
  }
  return new Piece({ resources: [...resources.values()], plain, chain, fallback });
}

/**
 * The last part decides about the certificate, clients and filters. TLS versions are the strictest of all parts: an object that allows an
 * old version must not weaken another one of the same host.
 */
function mergeSecure(parts: readonly HostContribution[]): SecureContribution | undefined {
  const all = parts.flatMap(({ secure }) => secure ?? []);
  const last = all.at(-1);
  if (!last) return undefined;
  const isStrict = all.some(({ tls }) => tls?.minimumVersion === '1.3');
  const tls = last.tls && isStrict ? { ...last.tls, minimumVersion: '1.3', maximumVersion: '1.3' } : last.tls;
  return { ...last, tls, routes: last.tcp ? [] : all.flatMap(({ routes }) => routes) };
}
