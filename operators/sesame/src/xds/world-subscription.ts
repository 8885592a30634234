// State of the world: each response has all resources of the type (listeners, clusters) or those that changed (the others).
import { encode, type ResourceType, typeUrl } from '../envoy/index.ts';
import { type Resource, resourceKey } from './resource.ts';
import { combinedVersion, join, resourcePieces } from './resource-store.ts';
import { type SentChange, Subscription, WILDCARD } from './subscription.ts';
import { VersionSum } from './version-sum.ts';

export interface DiscoveryRequest {
  readonly version_info?: string;
  readonly resource_names?: readonly string[];
  readonly response_nonce?: string;
  readonly error_detail?: { readonly message?: string };
}

/** Of these a resource that is not in a response is removed by the client. */
const COMPLETE: ReadonlySet<ResourceType> = new Set(['lds', 'cds']);

export class WorldSubscription extends Subscription {
  /** What was sent of each name, for the version of all of them; not used for wildcards. */
  readonly #sent = new Map<string, Resource>();
  readonly #sum = new VersionSum();
  #isStarted = false;
  #mustRespond = false;
  #lastNonce = '';

  request({
    version_info: version = '',
    resource_names: names = [],
    response_nonce: nonce = '',
    error_detail: error,
  }: DiscoveryRequest): void {
    // An answer to a response that was followed by another is out of date, and so are its names.
    if (this.#isStarted && nonce !== this.#lastNonce) return;
    this.#updateNames(names);
    if (!this.#isStarted) this.#start(version);
    else this.answer(nonce, error && (error.message ?? 'no message'));
    this.flush();
  }

  flush(): void {
    if (this.isAwaitingAnswer || this.stream.isBlocked) return;
    if (this.dirty.size === 0 && !this.#mustRespond) {
      this.settle();
      return;
    }
    const isWhole = this.isWildcard || COMPLETE.has(this.type);
    const changes = this.#takeChanges();
    const pieces = isWhole ? this.#whole() : this.#changed(changes);
    // What was removed cannot be expressed for these types: the client drops it when nothing refers to it.
    if (!isWhole && pieces.length === 0 && !this.#mustRespond) {
      for (const name of changes.keys()) this.dirty.delete(name);
      this.settle();
      return;
    }
    this.#mustRespond = false;
    const version = this.#version();
    const nonce = this.stream.nextNonce();
    this.#lastNonce = nonce;
    this.sent(nonce, version, changes);
    const head = encode('envoy.service.discovery.v3.DiscoveryResponse', {
      version_info: version,
      type_url: typeUrl(this.type),
      nonce,
    });
    this.stream.send(this.type, [...pieces, head]);
    this.node.delivered(this, changes);
  }

  #start(version: string): void {
    this.#isStarted = true;
    this.isFresh = version === '';
    for (const name of this.names) {
      if (name === WILDCARD) continue;
      this.#record(name, this.node.get(resourceKey(this.type, name)));
      this.mark(name, undefined);
    }
    // A client that comes back with what it would get has nothing to be sent.
    if (version !== '' && version === this.#version()) {
      this.dirty.clear();
      this.settle();
      return;
    }
    this.#mustRespond = true;
    this.node.pending.add(this);
  }

  #updateNames(names: readonly string[]): void {
    const isFirst = !this.#isStarted;
    if (names.length === 0 && (isFirst || this.isWildcard)) {
      this.subscribe(WILDCARD);
      return;
    }
    const wanted = new Set(names);
    for (const name of this.names) {
      if (wanted.has(name)) continue;
      this.unsubscribe(name);
      this.#record(name, undefined);
    }
    for (const name of wanted) {
      if (this.names.has(name)) continue;
      this.subscribe(name);
      if (!isFirst) {
        this.mark(name, undefined);
        this.#mustRespond ||= COMPLETE.has(this.type);
      }
    }
  }

  #takeChanges(): Map<string, SentChange> {
    const changes = new Map<string, SentChange>();
    for (const [name, previous] of this.dirty) {
      const sent = this.node.get(resourceKey(this.type, name));
      changes.set(name, { sent, previous });
      if (!this.isWildcard) this.#record(name, sent);
    }
    return changes;
  }

  #whole(): readonly Uint8Array[] {
    const { store } = this.node;
    if (this.isWildcard && this.node.isLikeStore(this.type)) return store.pieces(this.type, this.stream.delivery);
    return join([...this.#visible()].flatMap((resource) => resourcePieces(resource, this.stream.delivery)));
  }

  *#visible(): Generator<Resource> {
    if (this.isWildcard) yield* this.node.ofType(this.type);
    else yield* this.#sent.values();
  }

  #changed(changes: ReadonlyMap<string, SentChange>): Uint8Array[] {
    const resources = [...changes.values()].flatMap(({ sent }) => sent ?? []);
    return resources.flatMap((resource) => resourcePieces(resource, this.stream.delivery));
  }

  #version(): string {
    if (!this.isWildcard) return this.#sum.toString();
    const { store } = this.node;
    return this.node.isLikeStore(this.type) ? store.versionOf(this.type) : combinedVersion(this.node.ofType(this.type));
  }

  #record(name: string, resource: Resource | undefined): void {
    const before = this.#sent.get(name);
    if (before) this.#sum.remove(before);
    if (resource) {
      this.#sum.add(resource);
      this.#sent.set(name, resource);
    } else this.#sent.delete(name);
  }
}
