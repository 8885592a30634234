// From pieces to resources: counts who needs what, composes the resources that hosts share, and says what has changed. A change
// of one piece costs that piece and what it is a part of.
import { hash } from 'node:crypto';
import type { Resource, ResourceKey } from '../../xds/index.ts';
import { fallbackChain } from '../listener/filter-chain.ts';
import { httpListener, httpsListener, ownListeners, runtimeResource } from '../listener/listeners.ts';
import { FALLBACK_ROUTES, HTTP_ROUTES, sharedRoutes } from '../listener/virtual-host.ts';
import type { RoutingSettings } from '../settings.ts';
import type { Piece } from './piece.ts';
import { SharedParts } from './shared-parts.ts';

export interface Assembly {
  /** Resources that changed because these pieces did; undefined for what is gone. */
  take(changes: Iterable<PieceChange>): Map<ResourceKey, Resource | undefined>;
  /** A changed configuration: listeners are created again. */
  configure(settings: RoutingSettings): Map<ResourceKey, Resource | undefined>;
}

export interface PieceChange {
  readonly key: string;
  readonly after: Piece | undefined;
}

export function createAssembly(initial: RoutingSettings): Assembly {
  const pieces = new Map<string, Piece>();
  const owners = new Map<ResourceKey, Map<string, Resource>>();
  const endpoints = new Map<ResourceKey, Resource>();
  /** How many clusters need the endpoints. */
  const needed = new Map<ResourceKey, number>();
  const plain = new SharedParts();
  const chains = new SharedParts();
  const fallback = new SharedParts();
  let settings = initial;
  let settingsHash = hashOf(settings);
  let own: readonly Resource[] = [];
  let isStarted = false;

  const need = (resource: Resource, factor: 1 | -1, out: Map<ResourceKey, Resource | undefined>) => {
    if (resource.type !== 'cds') return;
    for (const key of resource.requires) {
      const count = (needed.get(key) ?? 0) + factor;
      if (count > 0) needed.set(key, count);
      else needed.delete(key);
      if (count === 0) out.set(key, undefined);
      else if (count === 1 && factor === 1) out.set(key, endpoints.get(key));
    }
  };

  const release = (owner: string, resource: Resource, out: Map<ResourceKey, Resource | undefined>) => {
    const held = owners.get(resource.key);
    const before = held && [...held.values()][0];
    if (!held?.delete(owner)) return;
    if (held.size === 0) {
      owners.delete(resource.key);
      out.set(resource.key, undefined);
      if (before) need(before, -1, out);
    } else out.set(resource.key, [...held.values()][0]);
  };

  const acquire = (owner: string, resource: Resource, out: Map<ResourceKey, Resource | undefined>) => {
    let held = owners.get(resource.key);
    if (!held) {
      held = new Map();
      owners.set(resource.key, held);
      need(resource, 1, out);
    }
    held.set(owner, resource);
    // The newest one counts where two differ, which only a moment between two evaluations can show.
    out.set(resource.key, resource);
  };

  const shared = (out: Map<ResourceKey, Resource | undefined>, isForced: boolean) => {
    if (plain.isChanged || isForced) {
      const { fragments, hash: content, requires } = plain.take();
      out.set('rds/ingress_http', sharedRoutes(HTTP_ROUTES, fragments, content, requires));
      out.set('lds/ingress_http', fragments.length > 0 ? httpListener(settings, undefined) : undefined);
    }
    const hadFallback = fallback.isChanged;
    if (fallback.isChanged || isForced) {
      const { fragments, hash: content, requires } = fallback.take();
      out.set(
        'rds/ingress_fallbackcert',
        fragments.length > 0 ? sharedRoutes(FALLBACK_ROUTES, fragments, content, requires) : undefined,
      );
      const { name, namespace } = settings.httpproxy.fallbackCertificate ?? {};
      const chain = fragments.length > 0 ? fallbackChain(`${namespace ?? ''}/${name ?? ''}`, settings) : undefined;
      // After all hosts: it takes what none of them matches.
      chains.put('fallback', chain && { name: '\u{10ffff}', fragment: chain, requires: [] });
    }
    if (chains.isChanged || hadFallback || isForced) {
      const { fragments, hash: content, requires } = chains.take();
      out.set(
        'lds/ingress_https',
        fragments.length > 0 ? httpsListener(settings, fragments, `${content}${settingsHash}`, requires) : undefined,
      );
    }
  };

  const ownResources = (out: Map<ResourceKey, Resource | undefined>) => {
    const next = [...ownListeners(settings), runtimeResource(settings)];
    for (const { key } of own) out.set(key, undefined);
    for (const resource of next) out.set(resource.key, resource);
    own = next;
  };

  return {
    take(changes) {
      const out = new Map<ResourceKey, Resource | undefined>();
      if (!isStarted) ownResources(out);
      for (const { key, after } of changes) {
        const before = pieces.get(key);
        if (after) pieces.set(key, after);
        else pieces.delete(key);
        const kept = new Set(after?.resources.map((resource) => resource.key));
        for (const resource of after?.resources ?? []) acquire(key, resource, out);
        for (const resource of before?.resources ?? []) if (!kept.has(resource.key)) release(key, resource, out);
        const named = new Set(after?.endpoints.map((resource) => resource.key));
        for (const resource of after?.endpoints ?? []) {
          endpoints.set(resource.key, resource);
          if (needed.has(resource.key)) out.set(resource.key, resource);
        }
        for (const resource of before?.endpoints ?? []) {
          if (named.has(resource.key)) continue;
          endpoints.delete(resource.key);
          out.set(resource.key, undefined);
        }
        plain.put(key, after?.plain);
        chains.put(key, after?.chain);
        fallback.put(key, after?.fallback);
      }
      shared(out, !isStarted);
      isStarted = true;
      return encoded(out);
    },
    configure(next) {
      const out = new Map<ResourceKey, Resource | undefined>();
      settings = next;
      settingsHash = hashOf(next);
      ownResources(out);
      shared(out, true);
      return encoded(out);
    },
  };
}

/** A listener that cannot be encoded is a bug that must show here, where the sink reports it, and not in a stream. */
function encoded(out: Map<ResourceKey, Resource | undefined>): Map<ResourceKey, Resource | undefined> {
  for (const resource of out.values()) if (resource?.type === 'lds') resource.bytes('grpc', 'whole');
  return out;
}

function hashOf({ envoy }: RoutingSettings): string {
  return hash('sha256', JSON.stringify([envoy.listener, envoy.https, envoy.http]), 'hex').slice(0, 16);
}
