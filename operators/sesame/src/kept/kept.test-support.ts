// Virtual hosts that share a route configuration, as the assembly composes it.
import { SharedParts } from '../routing/assembly/piece.ts';
import { HTTP_ROUTES, sharedHost, sharedRoutes, type VIRTUAL_HOST } from '../routing/envoy/route-message.ts';
import type { Resource } from '../xds/index.ts';

export function sharedParts(hosts: readonly string[], version = 1): Resource[] {
  const parts = new SharedParts<typeof VIRTUAL_HOST>();
  const resources = hosts.map((fqdn) => {
    const { fragment, resource } = sharedHost(HTTP_ROUTES, {
      fqdn,
      routes: [
        {
          match: { path: { kind: 'prefix', value: '/' }, headers: [], query: [] },
          action: { kind: 'answer', status: 200 + version, body: '' },
          policies: {},
          permitInsecure: false,
          origin: { kind: 'HTTPProxy', namespace: 'default', name: 'shop', path: 'spec' },
        },
      ],
      policies: {},
      rateLimits: [],
      origins: [],
    });
    parts.put(fqdn, { name: fqdn, fragment, requires: [] });
    return resource;
  });
  const { chunks, hash, requires } = parts.take();
  return [...resources, sharedRoutes(HTTP_ROUTES, chunks, hash, requires)];
}
