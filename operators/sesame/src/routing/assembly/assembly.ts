// From pieces to resources: counts the uses of each resource, composes the resources that hosts share, and reports changes. A change of one
// piece costs that piece and the resources that contain it.
import { hash } from 'node:crypto';
import type { Problem } from '../../configuration/index.ts';
import { FragmentChunk } from '../../envoy/index.ts';
import type { AuthorizationService } from '../../model/listener.ts';
import type { Rejection, Resource, ResourceKey } from '../../xds/index.ts';
import type { FILTER_CHAIN } from '../envoy/listener-message.ts';
import { FALLBACK_ROUTES, HTTP_ROUTES, sharedRoutes, type VIRTUAL_HOST } from '../envoy/route-message.ts';
import { chainFragment, fallbackChain, HTTP3_LISTENER, HTTPS_LISTENER } from '../listener/filter-chain.ts';
import { httpListener, ownListeners, runtimeResource, secureListener } from '../listener/listeners.ts';
import type { RoutingSettings } from '../settings.ts';
import { refusalOf } from './constraints.ts';
import { PatchedPieces } from './patched-pieces.ts';
import { type Piece, SharedParts } from './piece.ts';
import { RouteConfigurations } from './route-configurations.ts';

export interface Assembly {
  /** Returns the resources that changed because these pieces did; undefined for removed ones. */
  take(changes: Iterable<PieceChange>): Map<ResourceKey, Resource | undefined>;
  /** A changed configuration: listeners are created again. */
  configure(
    settings: RoutingSettings,
    authorization: AuthorizationService | undefined,
  ): Map<ResourceKey, Resource | undefined>;
  /** Leaves out patches that an Envoy refused. Returns the resources that changed; none where no patch is concerned. */
  withdraw(rejections: readonly Rejection[]): Map<ResourceKey, Resource | undefined>;
  /** Resources that every Envoy would refuse: their last valid versions are served, or nothing. */
  refused(): Iterable<Rejection>;
  /** The patches of the configuration that are not in force. */
  patchProblems(): readonly Problem[];
}

export interface PieceChange {
  readonly key: string;
  readonly after: Piece | undefined;
}

export function createAssembly(initial: RoutingSettings, initialAuthorization?: AuthorizationService): Assembly {
  const pieces = new Map<string, Piece>();
  const owners = new Owners();
  const endpoints = new Map<ResourceKey, Resource>();
  /** How many clusters need the endpoints. */
  const needed = new Map<ResourceKey, number>();
  const plain = new SharedParts<typeof VIRTUAL_HOST>();
  const chains = new SharedParts<typeof FILTER_CHAIN>();
  const http3 = new SharedParts<typeof FILTER_CHAIN>();
  const fallback = new SharedParts<typeof VIRTUAL_HOST>();
  const configurations = new RouteConfigurations();
  let settings = initial;
  let authorization = initialAuthorization;
  let settingsHash = hashOf(settings);
  let own: readonly Resource[] = [];
  let isStarted = false;
  /** Undefined: the configuration has and had no patches. */
  let patching = initial.envoyPatches ? new PatchedPieces(initial) : undefined;
  const refused = new Map<ResourceKey, Rejection>();
  /** By piece: resources of an earlier version, which stay while those of the present one would be refused. */
  const retained = new Map<string, readonly Resource[]>();

  /** Returns the earlier resources of a piece that are served no more. */
  const left = (key: string, before: Piece | undefined, after: Piece | undefined) => {
    const earlier = [...(before?.resources ?? []), ...(before?.endpoints ?? []), ...(retained.get(key) ?? [])];
    if (!before?.refused.length && !after?.refused.length) return earlier;
    for (const each of before?.refused ?? []) refused.delete(each.key);
    for (const each of after?.refused ?? []) refused.set(each.key, each);
    const stays = new Set(after?.refused.map((each) => each.key));
    const kept = earlier.filter((resource) => stays.has(resource.key));
    if (kept.length > 0) retained.set(key, kept);
    else retained.delete(key);
    return earlier.filter((resource) => !stays.has(resource.key));
  };

  /** Listeners that are composed here. One that cannot be encoded is a bug that must show where the sink reports it, and not in a stream. */
  const valid = (out: Map<ResourceKey, Resource | undefined>) => {
    for (const [key, resource] of out) {
      if (!key.startsWith('lds/') || key === `lds/${HTTPS_LISTENER}` || key === `lds/${HTTP3_LISTENER}`) continue;
      resource?.check();
      const refusal = resource && refusalOf(resource);
      if (refusal) {
        refused.set(key, refusal);
        out.delete(key);
      } else refused.delete(key);
    }
    return out;
  };

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
    const before = owners.first(resource.key);
    if (!owners.delete(resource.key, owner)) return;
    const left = owners.first(resource.key);
    out.set(resource.key, left);
    if (!left && before) need(before, -1, out);
  };

  const acquire = (owner: string, resource: Resource, out: Map<ResourceKey, Resource | undefined>) => {
    if (!owners.first(resource.key)) need(resource, 1, out);
    owners.set(resource.key, owner, resource);
    // The newest one counts where two differ, which only a moment between two evaluations can show.
    out.set(resource.key, resource);
  };

  const setListener = (out: Map<ResourceKey, Resource | undefined>, key: ResourceKey, listener: Resource | undefined) =>
    out.set(key, patching ? patching.listener(key, listener) : listener);

  let hasListener = false;
  const shared = (out: Map<ResourceKey, Resource | undefined>, isForced: boolean) => {
    if (plain.isChanged || isForced) {
      const { chunks, size, hash: content, requires } = plain.take();
      out.set('rds/ingress_http', sharedRoutes(HTTP_ROUTES, chunks, content, requires));
      // The listener is the same for any number of hosts.
      if (isForced || size > 0 !== hasListener)
        setListener(out, 'lds/ingress_http', size > 0 ? httpListener(settings, authorization) : undefined);
      hasListener = size > 0;
    }
    const hadFallback = fallback.isChanged;
    if (fallback.isChanged || isForced) {
      const { chunks, size, hash: content, requires } = fallback.take();
      out.set(
        'rds/ingress_fallbackcert',
        size > 0 ? sharedRoutes(FALLBACK_ROUTES, chunks, content, requires) : undefined,
      );
      const { name, namespace } = settings.httpproxy.fallbackCertificate ?? {};
      const chain = size > 0 ? fallbackChain(`${namespace ?? ''}/${name ?? ''}`, settings, authorization) : undefined;
      // The fallback comes after all hosts: it takes requests that none of them matches.
      chains.put('fallback', chain && { name: '\u{10ffff}', fragment: chainFragment(chain), requires: [] });
    }
    for (const [name, parts, isStale] of [
      [HTTPS_LISTENER, chains, hadFallback],
      [HTTP3_LISTENER, http3, false],
    ] as const) {
      // Each chain was encoded when it was hashed. To encode all of them for a check would keep a form that no client may ask for.
      if (isForced) {
        // Chains of all hosts have the values of the configuration: one stands for them.
        const sample = chainFragment(fallbackChain('any/certificate', settings, authorization));
        const samples = name === HTTPS_LISTENER ? [new FragmentChunk([sample])] : [];
        const listener = secureListener(name, settings, samples, settingsHash, []);
        listener.check();
        const refusal = refusalOf(listener);
        if (refusal) refused.set(listener.key, refusal);
        else refused.delete(listener.key);
      }
      if ((!parts.isChanged && !isStale && !isForced) || refused.has(`lds/${name}`)) continue;
      const { chunks, size, hash: content, requires } = parts.take();
      const frame = patching?.frame(name, size > 0 ? secureListener(name, settings, [], '', []) : undefined);
      const version = `${content}${settingsHash}${frame?.digest ?? ''}`;
      out.set(
        `lds/${name}`,
        size > 0 ? secureListener(name, settings, chunks, version, requires, frame?.patch) : undefined,
      );
    }
  };

  const ownResources = (out: Map<ResourceKey, Resource | undefined>) => {
    const next = [...ownListeners(settings), runtimeResource(settings)];
    for (const { key } of own) out.set(key, undefined);
    for (const resource of next) {
      if (resource.type === 'lds') setListener(out, resource.key, resource);
      else out.set(resource.key, resource);
    }
    own = next;
  };

  /** Returns true where route configurations of Gateways are to be composed. */
  const replace = (
    key: string,
    before: Piece | undefined,
    after: Piece | undefined,
    out: Map<ResourceKey, Resource | undefined>,
  ): boolean => {
    const earlier = left(key, before, after);
    const kept = new Set([...(after?.resources ?? []), ...(after?.endpoints ?? [])].map((each) => each.key));
    for (const resource of after?.resources ?? []) acquire(key, resource, out);
    for (const resource of after?.endpoints ?? []) {
      endpoints.set(resource.key, resource);
      if (needed.has(resource.key)) out.set(resource.key, resource);
    }
    for (const resource of earlier) {
      if (kept.has(resource.key)) continue;
      if (resource.type !== 'eds') release(key, resource, out);
      else if (endpoints.delete(resource.key)) out.set(resource.key, undefined);
    }
    plain.put(key, after?.plain);
    chains.put(key, after?.chain);
    http3.put(key, after?.http3);
    fallback.put(key, after?.fallback);
    if (!hasRoutes(before) && !hasRoutes(after)) return false;
    configurations.take(key, before, after);
    return true;
  };

  /** Applies changed patches to the pieces that they are for, or were for. */
  const patchAgain = (out: Map<ResourceKey, Resource | undefined>) => {
    for (const [key, { before, after }] of patching?.again(pieces) ?? []) replace(key, before, after, out);
    ownResources(out);
    shared(out, true);
    configurations.compose(out);
    return valid(out);
  };

  return {
    take(changes) {
      const out = new Map<ResourceKey, Resource | undefined>();
      let isComposed = true;
      if (!isStarted) ownResources(out);
      for (const { key, after } of changes) {
        const before = patching ? patching.shown(key, pieces.get(key)) : pieces.get(key);
        if (after) pieces.set(key, after);
        else pieces.delete(key);
        if (replace(key, before, patching ? patching.take(key, after) : after, out)) isComposed = false;
      }
      shared(out, !isStarted);
      if (!isComposed) configurations.compose(out);
      isStarted = true;
      return valid(out);
    },
    configure(next, nextAuthorization) {
      settings = next;
      authorization = nextAuthorization;
      settingsHash = hashOf(next);
      if (patching) patching.configure(next);
      else if (next.envoyPatches) patching = new PatchedPieces(next);
      return patchAgain(new Map());
    },
    withdraw: (rejections) => (patching?.withdraw(rejections) ? patchAgain(new Map()) : new Map()),
    refused: () => refused.values(),
    patchProblems: () => patching?.problems() ?? [],
  };
}

/** Whether the piece is part of a Gateway's route configurations. */
function hasRoutes(piece: Piece | undefined): boolean {
  return piece?.routePart !== undefined || (piece?.configurations.length ?? 0) > 0;
}

/** Which pieces have a resource. Nearly every resource has one owner, so that only the others have a map of them. */
class Owners {
  readonly #only = new Map<ResourceKey, { readonly owner: string; readonly resource: Resource }>();
  readonly #several = new Map<ResourceKey, Map<string, Resource>>();

  first(key: ResourceKey): Resource | undefined {
    const only = this.#only.get(key);
    if (only) return only.resource;
    for (const resource of this.#several.get(key)?.values() ?? []) return resource;
    return undefined;
  }

  set(key: ResourceKey, owner: string, resource: Resource): void {
    const several = this.#several.get(key);
    const only = this.#only.get(key);
    if (several) several.set(owner, resource);
    else if (!only || only.owner === owner) this.#only.set(key, { owner, resource });
    else {
      this.#only.delete(key);
      this.#several.set(
        key,
        new Map([
          [only.owner, only.resource],
          [owner, resource],
        ]),
      );
    }
  }

  /** Whether it was one. */
  delete(key: ResourceKey, owner: string): boolean {
    if (this.#only.get(key)?.owner === owner) return this.#only.delete(key);
    const several = this.#several.get(key);
    if (!several?.delete(owner)) return false;
    const [last, ...more] = several.size === 1 ? several : [];
    if (last && more.length === 0) {
      this.#several.delete(key);
      this.#only.set(key, { owner: last[0], resource: last[1] });
    }
    return true;
  }
}

function hashOf({ envoy }: RoutingSettings): string {
  return hash('sha256', JSON.stringify([envoy.listener, envoy.https, envoy.http]), 'hex').slice(0, 16);
}
