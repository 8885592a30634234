// Virtual hosts and route configurations, from the parts that objects add to a host.
import { type Envoy, type Fragment, type FragmentChunk, RenamedFragment } from '../../envoy/index.ts';
import type { Route } from '../../model/route.ts';
import type { VirtualHost } from '../../model/virtual-host.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import { clusterKey, originTexts } from '../envoy/cluster-message.ts';
import { policiesMessage, rateLimitsMessage } from '../envoy/policy-message.ts';
import { clustersOf, routeMessage } from '../envoy/route-message.ts';
import { inOrder } from '../route-order.ts';
import { hashName } from '../upstream/upstream.ts';

export const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
export const HTTP_ROUTES = 'ingress_http';
export const FALLBACK_ROUTES = 'ingress_fallbackcert';

/** The common part of every route configuration. */
const COMMON: Pick<Envoy.RouteConfiguration, 'request_headers_to_add' | 'ignore_port_in_host_matching'> = {
  request_headers_to_add: [
    { header: { key: 'x-request-start', value: 't=%START_TIME(%s.%3f)%' }, append_action: 'APPEND_IF_EXISTS_OR_ADD' },
  ],
  ignore_port_in_host_matching: true,
};

export function virtualHostMessage({ fqdn, routes, policies, rateLimits }: VirtualHost): Envoy.VirtualHost {
  return {
    name: hashName(fqdn),
    domains: [fqdn],
    routes: inOrder(routes).map((route) => routeMessage(route)),
    typed_per_filter_config: policiesMessage(policies),
    rate_limits: rateLimitsMessage(rateLimits),
  };
}

export function clusterKeys(routes: readonly Route[]): ResourceKey[] {
  return [...new Set(routes.flatMap((route) => clustersOf(route).map((cluster) => clusterKey(cluster))))];
}

/** A virtual host in a route configuration. */
export type HostFragment = Fragment<typeof VIRTUAL_HOST>;

/** A part of a shared route configuration, and the same as a resource of its own for delta clients. */
export interface SharedHost {
  readonly fragment: HostFragment;
  readonly resource: Resource;
}

export function sharedHost(routesName: string, parts: VirtualHost): SharedHost {
  const host = virtualHostMessage(parts);
  // Envoy finds the virtual hosts of a configuration by this prefix.
  const name = `${routesName}/${parts.fqdn}`;
  const resource = createResource({
    type: 'vhds',
    name,
    value: { ...host, name },
    requires: clusterKeys(parts.routes),
    origins: originTexts(parts.origins),
  });
  const fragment = new RenamedFragment(VIRTUAL_HOST, hashName(parts.fqdn), resource.bytes('grpc', 'whole'));
  return { fragment, resource };
}

/** One resource, composed of the bytes of the hosts; for delta clients it is split, and only the hosts in `more` stay in it. */
export function sharedRoutes(
  name: string,
  hosts: readonly FragmentChunk<typeof VIRTUAL_HOST>[],
  contentHash: string,
  requires: readonly ResourceKey[],
  more: readonly HostFragment[] = [],
): Resource {
  return createResource({
    type: 'rds',
    name,
    composition: {
      chunks: hosts,
      of: (chunks: readonly FragmentChunk<typeof VIRTUAL_HOST>[], hash) =>
        sharedRoutes(name, chunks, hash, requires, more),
      nameOf: ({ value }: HostFragment) => value.domains?.[0] ?? '',
    },
    value: () => ({ name, virtual_hosts: [...hosts, ...more], ...COMMON }),
    splitValue: {
      name,
      virtual_hosts: more.length > 0 ? more : undefined,
      ...COMMON,
      vhds: { config_source: ADS_SOURCE },
    },
    contentHash,
    requires,
  });
}

const ADS_SOURCE: Envoy.ConfigSource = { ads: {}, resource_api_version: 'V3' };

export function secureRoutesName(fqdn: string): string {
  return `https/${fqdn}`;
}

/**
 * The routes of a host with TLS. A request for another host arrives here when a client reuses a connection whose certificate covers both;
 * it is answered with 421, and the client connects again.
 */
export function secureRoutes(host: VirtualHost): Resource {
  const { fqdn, routes, origins } = host;
  const name = secureRoutesName(fqdn);
  const misdirected: Envoy.VirtualHost = {
    name: 'misdirected',
    domains: ['*'],
    routes: [
      {
        match: { prefix: '/' },
        direct_response: { status: 421 },
        typed_per_filter_config: policiesMessage({ authorization: { kind: 'disabled' } }),
      },
    ],
  };
  const own = virtualHostMessage(host);
  return createResource({
    type: 'rds',
    name,
    value: { name, virtual_hosts: fqdn === '*' ? [own] : [own, misdirected], ...COMMON },
    requires: clusterKeys(routes),
    origins: originTexts(origins),
  });
}
