// The refusals of one client: the resources and the parts of composed resources that it does not accept, and the versions that it sees in
// their place. Most clients have none.
import type { ResourceType } from '../../envoy/index.ts';
import { isSameResource, type Resource, type ResourceKey } from '../resource.ts';
import type { ResourceStore } from '../resource-store.ts';
import type { SentChange, Subscription } from '../subscription.ts';
import { Isolations, type RefusedParts } from './isolation.ts';
import type { RefusedResources } from './refused-resources.ts';

export interface Rejection {
  readonly key: ResourceKey;
  readonly version: string;
  /** The message of the client. */
  readonly message: string;
  readonly origins: readonly string[];
}

/** The refusals of a server's clients, of whole resources and of parts. */
export interface Refused {
  readonly parts: RefusedParts;
  readonly resources: RefusedResources;
}

/** The client that refuses. */
export interface RefusingClient {
  readonly store: ResourceStore;
  /** The resources that the client sees in place of those in the store. */
  readonly instead: Map<ResourceKey, Resource | undefined>;
  /** Reports whether its listeners are at places of their own, which are of no use to other clients. */
  hasMovedListeners(): boolean;
  /** From now on the client sees the store's version, except for parts that it refuses. */
  release(key: ResourceKey): void;
  /** The subscriptions to the resource send it, if the client has another version. */
  mark(type: ResourceType, name: string, seen: Resource | undefined): void;
  /** The client refuses endpoints. */
  onEndpointsRefused(key: ResourceKey): void;
}

export class ClientRefusals {
  readonly rejections = new Map<ResourceKey, Rejection>();
  readonly #client: RefusingClient;
  readonly #refused: RefusedResources;
  /** Composed resources of which the client refuses a part. */
  readonly #isolations: Isolations;

  constructor(client: RefusingClient, { parts, resources }: Refused) {
    this.#client = client;
    this.#refused = resources;
    this.#isolations = new Isolations(parts);
  }

  /** The client has nothing any more of these; returns those of which it had refused or accepted parts. */
  forget(isGone: (key: ResourceKey) => boolean): ResourceKey[] {
    return this.#isolations.forget(isGone);
  }

  /** The client has accepted a resource, or its absence. */
  accepted(key: ResourceKey, sent: Resource | undefined, isWhole: boolean): void {
    if (!this.#isKept(key, sent)) {
      this.rejections.delete(key);
      this.#refused.forget(key);
    }
    if (sent?.composition && isWhole && this.#isolations.accept(key, sent)) this.#show(key, sent);
  }

  /** Reports a refusal of a resource that the client goes on to see. */
  blame({ stream }: Subscription, resource: Resource, message: string): void {
    const { key, origins } = resource;
    this.rejections.set(key, { key, version: resource.version(stream.shape), message, origins });
  }

  /** Lets the client see its last accepted version, or nothing; false when it continues to see the refused one. */
  refuse(subscription: Subscription, { sent, previous }: SentChange, message: string): boolean {
    if (!sent) return false;
    const { key } = sent;
    const { instead, store } = this.#client;
    const isComposed = sent.composition !== undefined && isWhole(subscription);
    if (isComposed && this.#isolate(subscription, sent, message)) return true;
    this.blame(subscription, sent, message);
    const last = previous ?? this.#refused.get(key)?.accepted;
    // A version that the client refuses now is not kept: it would be sent and refused for ever.
    const kept = isSameResource(last, sent) ? undefined : last;
    // It has the hosts of all: a client that comes back would lose those that it serves.
    if (isComposed && !kept && !subscription.isFresh) return false;
    // A listener at a place of this client is of no use to others.
    const accepted = sent.type === 'lds' && this.#client.hasMovedListeners() ? undefined : kept;
    this.#refused.remember({ key, version: sent.version('whole'), message, accepted });
    // A change that came meanwhile takes its place. A removal that is held back does not: the client still sees the resource.
    const shown = instead.has(key) ? instead.get(key) : store.get(key);
    if (!isSameResource(shown, sent)) return true;
    instead.set(key, kept);
    if (sent.type === 'eds') this.#client.onEndpointsRefused(key);
    // Envoy has replaced a secret before it finds that no context can be made of it: listeners that come later would use it.
    if (kept && sent.type === 'sds') subscription.resend(sent.name, kept);
    return true;
  }

  /** Reports whether the client is sent nothing of a resource, because it refuses it. */
  isLeftOut(key: ResourceKey): boolean {
    const { instead } = this.#client;
    return instead.has(key) && instead.get(key) === undefined && this.rejections.has(key);
  }

  /** The store's version of a resource is in force: returns it without the parts that the client refuses. */
  withoutParts(key: ResourceKey, wanted: Resource | undefined): Resource | undefined {
    const next = this.#isolations.next(key, wanted);
    this.#reportParts(key);
    return next;
  }

  /** Reports whether this is the version that the client keeps of a resource that it refuses. */
  #isKept(key: ResourceKey, sent: Resource | undefined): boolean {
    const { instead } = this.#client;
    return this.rejections.has(key) && instead.has(key) && isSameResource(instead.get(key), sent);
  }

  /** Sends the resource without its refused parts, or with fewer changes to find them; false when they cannot be found. */
  #isolate(subscription: Subscription, sent: Resource, message: string): boolean {
    const { key } = sent;
    const wanted = this.#client.store.get(key);
    const accepted = this.#isolations.accepted(key);
    if (!wanted) return false;
    const isFound = this.#isolations.refused(sent, wanted, message, subscription.isFresh);
    if (isFound) this.#show(key, accepted);
    // The version of a search is not the one to go on with.
    else this.#client.release(key);
    return isFound;
  }

  /** Lets the client see its next version of a resource with a refused part, and sends that if the client has another one. */
  #show(key: ResourceKey, accepted: Resource | undefined): void {
    const { instead, store } = this.#client;
    this.#client.release(key);
    const next = instead.get(key) ?? store.get(key);
    if (!next || next.version('whole') === accepted?.version('whole')) return;
    this.#client.mark(next.type, next.name, accepted);
  }

  /** Each part that is kept back is a refusal of its own, with the objects that it comes from. */
  #reportParts(key: ResourceKey): void {
    for (const each of this.rejections.keys()) if (each.startsWith(`${key}#`)) this.rejections.delete(each);
    const kept = this.#isolations.kept(key);
    if (!kept) return;
    this.rejections.delete(key);
    const name = key.slice(key.indexOf('/') + 1);
    const { store } = this.#client;
    for (const part of kept) {
      // The same host as a resource of its own knows where it comes from.
      const own = store.get(`vhds/${name}/${part.name}`) ?? store.get(`rds/https/${part.name}`);
      const { message } = part;
      const origins = own?.origins ?? [];
      this.rejections.set(`${key}#${part.name}`, { key: `${key}#${part.name}`, version: '', message, origins });
    }
  }
}

/** Split into its parts a resource is refused part by part. */
export function isWhole({ type, stream }: Subscription): boolean {
  return stream.shape === 'whole' || type === 'lds';
}
