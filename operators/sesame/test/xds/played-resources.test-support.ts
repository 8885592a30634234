// The resources that change while a client is played. A number decides the content of each.
import { hash } from 'node:crypto';
import { CONFIG_SOURCE, Fragment, FragmentChunk, type ResourceType } from '../../src/envoy/index.ts';
import { PART_MARKER } from '../../src/xds/refusals/isolation.ts';
import { createResource, type Resource, resourceKey } from '../../src/xds/resource.ts';

export const SHARED = 'shared';
export const NAMES = ['a', 'b', 'c', 'd'];
const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';

/** Contents with such a number are refused by a client that is strict. */
export const BAD = 10_000;
export const HAS_BAD = /(?<!\d)1\d{4}(?!\d)/;

/** A resource with a content that the number decides. */
export function resourceOf(type: ResourceType, name: string, turn: number): Resource {
  switch (type) {
    case 'cds': {
      const eds = { service_name: name, eds_config: CONFIG_SOURCE };
      const value = { name, type: 'EDS' as const, connect_timeout: `${1 + turn}s`, eds_cluster_config: eds };
      return createResource({ type, name, value, requires: [resourceKey('eds', name)] });
    }
    case 'eds': {
      const endpoint = { address: { socket_address: { address: '10.0.0.1', port_value: 1 + turn } } };
      return createResource({
        type,
        name,
        value: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint }] }] },
      });
    }
    case 'lds':
      return createResource({ type, name, value: { name, per_connection_buffer_limit_bytes: 1 + turn } });
    case 'sds':
      return createResource({ type, name, value: { name, generic_secret: { secret: { inline_string: `${turn}` } } } });
    case 'rtds':
      return createResource({ type, name, value: { name, layer: { turn } } });
    case 'vhds': {
      const route = { match: { prefix: `/${turn}` }, route: { cluster: name } };
      const value = { name: `shared/${name}`, domains: [name], routes: [route] };
      return createResource({ type, name: `shared/${name}`, value, requires: [resourceKey('cds', name)] });
    }
    case 'rds': {
      const route = { match: { prefix: `/${turn}` }, route: { cluster: name } };
      const value = { name, virtual_hosts: [{ name, domains: ['*'], routes: [route] }] };
      return createResource({ type, name, value, requires: [resourceKey('cds', name)] });
    }
  }
}

const HOST_MARKER = new Fragment(VIRTUAL_HOST, { name: PART_MARKER, domains: [PART_MARKER] }, true);

type HostChunk = FragmentChunk<typeof VIRTUAL_HOST>;

/** Routes that are composed of a part for each host, each with its number. */
export function sharedRoutes(hosts: ReadonlyMap<string, number>, turn: number): Resource {
  const parts = [...hosts].map(([name, each]) => {
    const route = { match: { prefix: `/${each}` }, route: { cluster: name } };
    return new Fragment(VIRTUAL_HOST, { name, domains: [name], routes: [route] }, true);
  });
  const requires = [...hosts.keys()].map((name) => resourceKey('cds', name));
  // Some changes of hosts leave the rest as it is.
  return composed([new FragmentChunk(parts)], JSON.stringify([...hosts]), requires, turn >> 2);
}

function composed(chunks: readonly HostChunk[], content: string, requires: readonly string[], rest: number): Resource {
  return createResource({
    type: 'rds',
    name: SHARED,
    contentHash: hash('sha256', content, 'hex').slice(0, 16),
    requires,
    composition: {
      chunks,
      of: (others: readonly HostChunk[], next) => composed(others, next, requires, rest),
      nameOf: ({ value }: Fragment<typeof VIRTUAL_HOST>) => value.domains?.[0] ?? '',
      marker: HOST_MARKER,
    },
    value: () => ({ name: SHARED, virtual_hosts: chunks }),
    splitValue: { name: SHARED, internal_only_headers: [`${rest}`] },
  });
}

/** The versions of a client that comes back: no server knows them. */
export function versionsOf(has: ReadonlyMap<string, string> = new Map()): Record<string, string> {
  return Object.fromEntries([...has.keys()].map((name) => [name, 'of the server before']));
}

export function wantedNames(type: ResourceType): string[] {
  if (type === 'vhds') return [SHARED, ...NAMES.map((name) => `${SHARED}/${name}`)];
  return type === 'rds' ? [...NAMES, SHARED] : NAMES;
}
