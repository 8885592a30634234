// The sum of the objects of one host.
import type { Certificate } from '../../model/certificate.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Resource } from '../../xds/index.ts';
import { clusterKey, clusterResource } from '../envoy/cluster-message.ts';
import { clustersOf } from '../envoy/route-message.ts';
import { secretResource } from '../envoy/secret-message.ts';
import { chainFragment, hostChain } from '../listener/filter-chain.ts';
import { clusterKeys, FALLBACK_ROUTES, HTTP_ROUTES, secureRoutes, sharedHost } from '../listener/virtual-host.ts';
import type { HostContribution, SecureContribution } from '../proxy/translate-root.ts';
import type { RoutingSettings } from '../settings.ts';
import { Piece, type PieceContent } from './piece.ts';

/** Parts in the order of their weight: of routes that match the same the last one counts. */
export function hostPiece(
  fqdn: string,
  parts: readonly HostContribution[],
  secrets: readonly Certificate[],
  settings: RoutingSettings,
): Piece {
  const host = mergeHost(fqdn, parts);
  if (!host) return new Piece({});
  const { plain: routes, policies, rateLimits, origins, secure } = host;
  const resources = new Map<string, Resource>();
  const add = (resource: Resource) => resources.set(resource.key, resource);
  const addCluster = (cluster: Cluster) => add(clusterResource(cluster));
  for (const secret of secrets) add(secretResource(secret));
  for (const route of routes) clustersOf(route).forEach(addCluster);

  let plain: PieceContent['plain'];
  if (routes.length > 0) {
    const { fragment, resource } = sharedHost(HTTP_ROUTES, { fqdn, routes, policies, rateLimits, origins });
    add(resource);
    plain = { name: fqdn, fragment, requires: clusterKeys(routes) };
  }
  let chain: PieceContent['chain'];
  let fallback: PieceContent['fallback'];
  if (secure && (secure.tcp || secure.routes.length > 0)) {
    for (const route of secure.routes) clustersOf(route).forEach(addCluster);
    for (const { cluster } of secure.tcp ?? []) addCluster(cluster);
    secure.jwt?.clusters.forEach(addCluster);
    const secureHost = { fqdn, routes: secure.routes, policies, rateLimits, origins };
    if (!secure.tcp) add(secureRoutes(secureHost));
    const requires = secure.tcp ? secure.tcp.map(({ cluster }) => clusterKey(cluster)) : clusterKeys(secure.routes);
    chain = { name: fqdn, fragment: chainFragment(hostChain(host, secure, settings)), requires };
    if (secure.tls?.fallback) {
      const shared = sharedHost(FALLBACK_ROUTES, secureHost);
      add(shared.resource);
      fallback = { name: fqdn, fragment: shared.fragment, requires };
    }
  }
  return new Piece({ resources: [...resources.values()], plain, chain, fallback });
}

/** Merges the contributions of several objects to one host; undefined when there are none. */
export function mergeHost(fqdn: string, parts: readonly HostContribution[]): HostContribution | undefined {
  const [first, ...others] = parts;
  if (!first) return undefined;
  if (others.length === 0) return { ...first, secure: mergeSecure(parts) };
  return {
    fqdn,
    plain: parts.flatMap(({ plain }) => plain),
    secure: mergeSecure(parts),
    policies: Object.assign({}, ...parts.map((part) => part.policies)) as HostContribution['policies'],
    rateLimits: parts.flatMap((part) => part.rateLimits),
    origins: parts.flatMap((part) => part.origins),
  };
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
