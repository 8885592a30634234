// Virtual hosts and route configurations, from the parts that objects add to a host.
import {
  type Envoy,
  type Fragment,
  type FragmentChunk,
  hasFields,
  type PerFilter,
  RenamedFragment,
} from '../../envoy/index.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import { authorizationDisabled } from '../policy/authorization.ts';
import { FILTER } from '../policy/filter-names.ts';
import type { HostContribution } from '../proxy/translate-root.ts';
import { directResponse, envoyRoutes, type RouteEntry } from '../route-entry.ts';
import { hashName } from '../upstream/envoy-names.ts';

export const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
export const HTTP_ROUTES = 'ingress_http';
export const FALLBACK_ROUTES = 'ingress_fallbackcert';

/** What every route configuration has in common. */
const COMMON: Pick<Envoy.RouteConfiguration, 'request_headers_to_add' | 'ignore_port_in_host_matching'> = {
  request_headers_to_add: [
    { header: { key: 'x-request-start', value: 't=%START_TIME(%s.%3f)%' }, append_action: 'APPEND_IF_EXISTS_OR_ADD' },
  ],
  ignore_port_in_host_matching: true,
};

export interface VirtualHostContent {
  readonly fqdn: string;
  readonly routes: readonly RouteEntry[];
  readonly perFilter: PerFilter;
  readonly rateLimits: readonly Envoy.RouteRateLimit[];
}

export function virtualHost({ fqdn, routes, perFilter, rateLimits }: VirtualHostContent): Envoy.VirtualHost {
  return {
    name: hashName(fqdn),
    domains: [fqdn],
    routes: envoyRoutes(routes),
    typed_per_filter_config: hasFields(perFilter) ? perFilter : undefined,
    rate_limits: rateLimits.length > 0 ? rateLimits : undefined,
  };
}

export function clusterKeys(routes: readonly RouteEntry[]): ResourceKey[] {
  return [...new Set(routes.flatMap(({ clusters }) => clusters.map(({ key }) => key)))];
}

/** A part of a shared route configuration, and the same as a resource of its own for delta clients. */
/** A virtual host in a route configuration. */
export type HostFragment = Fragment<typeof VIRTUAL_HOST>;

export interface SharedHost {
  readonly fragment: HostFragment;
  readonly resource: Resource;
}

export function sharedHost(routesName: string, parts: VirtualHostContent, origins: readonly string[]): SharedHost {
  const host = virtualHost(parts);
  // Envoy finds the virtual hosts of a configuration by this prefix.
  const name = `${routesName}/${parts.fqdn}`;
  const resource = createResource({
    type: 'vhds',
    name,
    value: { ...host, name },
    requires: clusterKeys(parts.routes),
    origins,
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
 * Of a host with TLS. A request for another host arrives here when a client reuses a connection whose certificate covers both;
 * it is answered with 421, and the client connects again.
 */
export function secureRoutes(part: HostContribution, routes: readonly RouteEntry[]): Resource {
  const name = secureRoutesName(part.fqdn);
  const misdirected: Envoy.VirtualHost = {
    name: 'misdirected',
    domains: ['*'],
    routes: [
      {
        match: { prefix: '/' },
        ...directResponse(421),
        typed_per_filter_config: { [FILTER.authorization]: authorizationDisabled() },
      },
    ],
  };
  const host = virtualHost({ fqdn: part.fqdn, routes, perFilter: part.perFilter, rateLimits: part.rateLimits });
  return createResource({
    type: 'rds',
    name,
    value: { name, virtual_hosts: part.fqdn === '*' ? [host] : [host, misdirected], ...COMMON },
    requires: clusterKeys(routes),
    origins: part.origins,
  });
}
