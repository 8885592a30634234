// State of the world: each response has all resources of the type (listeners, clusters) or those that changed (the others).
import { encode, type ResourceType, typeUrl } from '../envoy/index.ts';
import { MarkerSearch } from './refusals/marker-search.ts';
import { type Resource, resourceKey } from './resource.ts';
import { combinedVersion, join, lengthPrefix, resourceBuffers } from './resource-store.ts';
import { isNamed, refusedListeners, type SentChange, Subscription, WILDCARD } from './subscription.ts';
import { VersionSum } from './version-sum.ts';

export interface DiscoveryRequest {
  readonly version_info?: string;
  readonly resource_names?: readonly string[];
  readonly response_nonce?: string;
  readonly error_detail?: { readonly message?: string };
}

/** For these types, the client removes a resource that is not in a response. */
const COMPLETE: ReadonlySet<ResourceType> = new Set(['lds', 'cds']);

/** The client's versions of names whose change is not sent yet. */
type Previous = ReadonlyMap<string, Resource | undefined>;

const NOTHING: Previous = new Map();

/** A type that is none of the discovery services': its URL is in the message of a client that refuses it. */
const MARKER = 'google.protobuf.Empty';
const MARKER_BUFFER = markerBuffer();

function markerBuffer(): Uint8Array {
  const any = encode('google.protobuf.Any', { '@type': `type.googleapis.com/${MARKER}` });
  return Buffer.concat([lengthPrefix(0x12, any.length), any]);
}

export class WorldSubscription extends Subscription {
  /** The sent version of each name, for the version of all of them; not used for wildcards. */
  readonly #sent = new Map<string, Resource>();
  readonly #sum = new VersionSum();
  #isStarted = false;
  #mustRespond = false;
  /** The state of the client is known: it had nothing, or has accepted a response. */
  #isKnown = true;
  /** The state of the client is not known, and one of its resources is refused. */
  #search: MarkerSearch | undefined;
  /** Nothing was sent yet. */
  #isInitial = false;
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
    else if (!error) {
      this.#isKnown = true;
      this.#search = undefined;
      this.answer(nonce, undefined);
    } else this.answer(nonce, error.message ?? 'no message');
    this.flush();
  }

  flush(): void {
    if (this.isAwaitingAnswer || this.stream.isBlocked) return;
    if (this.dirty.size === 0 && !this.#mustRespond) {
      this.settle();
      return;
    }
    const isWhole = this.isWildcard || COMPLETE.has(this.type);
    const part = this.nextPart();
    const changes = this.#takeChanges(part);
    // The client keeps the previous version of other parts until their turn comes.
    const later = new Map(part ? [...this.dirty].filter(([name]) => !part.has(name)) : []);
    const buffers = isWhole ? this.#whole(later) : this.#changed(changes);
    // A removal cannot be expressed for these types: the client drops the resource when nothing refers to it.
    if (!isWhole && buffers.length === 0 && !this.#mustRespond) {
      for (const name of changes.keys()) this.dirty.delete(name);
      this.node.dropped(this, changes.keys());
      this.settle();
      return;
    }
    this.#mustRespond = false;
    const isInitial = this.#isInitial;
    this.#isInitial = false;
    const version = this.#version(later);
    const nonce = this.stream.nextNonce();
    this.#lastNonce = nonce;
    this.sent(nonce, version, changes);
    const head = encode('envoy.service.discovery.v3.DiscoveryResponse', {
      version_info: version,
      type_url: typeUrl(this.type),
      nonce,
      control_plane: this.controlPlane,
    });
    this.stream.send(this.type, [...buffers, head]);
    // The clusters of the first response may be there already, and then ask for no endpoints.
    if (!isInitial) this.node.sent(this, changes);
  }

  #start(version: string): void {
    this.#isStarted = true;
    this.isFresh = version === '';
    if (this.isFresh) this.node.begins(this);
    this.#isKnown = version === '' || !COMPLETE.has(this.type);
    const refused = this.#refused();
    for (const name of this.names)
      if (name !== WILDCARD)
        this.#record(name, refused.has(name) ? refused.get(name) : this.node.find(this.type, name));
    const names = this.isWildcard ? [...this.node.ofType(this.type)].map(({ name }) => name) : this.names;
    // A client that reconnects with the present version gets only the resources that it refused: they are tried again.
    const isSame = version !== '' && version === this.#version(refused);
    for (const name of names) if (!isSame || refused.has(name)) this.mark(name, refused.get(name));
    if (isSame) {
      this.settle();
      return;
    }
    this.#isInitial = true;
    this.#mustRespond = true;
    this.node.due(this);
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

  /** Resources that clients refuse, with the version that they accepted before. */
  #refused(): Previous {
    const { refused } = this.node;
    if (refused.size === 0) return NOTHING;
    const names = this.isWildcard ? [...this.node.ofType(this.type)].map(({ name }) => name) : [...this.names];
    return new Map(
      names.flatMap((name) => {
        const found = refused.get(resourceKey(this.type, name));
        return found ? [[name, found.accepted] as const] : [];
      }),
    );
  }

  protected override restored(name: string, previous: Resource | undefined): void {
    if (!this.isWildcard) this.#record(name, previous);
  }

  /** A client that comes back has versions that are not known: a response with less would take resources from it. */
  protected override search(changes: ReadonlyMap<string, SentChange>, message: string): boolean {
    if (this.#isKnown) return false;
    const names = [...changes.keys()];
    const [listener, ...more] = this.type === 'lds' && !this.#search ? refusedListeners(names, message) : [];
    if (listener !== undefined && more.length === 0) {
      this.#refuseOnly(changes, listener, message);
      return true;
    }
    if (!this.#search) {
      const suspects = names.filter((name) => isNamed(name, message));
      this.#search = new MarkerSearch({ all: names, suspects, marker: MARKER, isOrderKnown: true });
      this.#sendAgain(changes, undefined);
      return true;
    }
    const result = this.#search.refused(message);
    if (result === 'again') {
      this.#sendAgain(changes, undefined);
      return true;
    }
    this.#search = undefined;
    if (result !== 'none') this.#refuseOnly(changes, result.found, message);
    return true;
  }

  /** All other changes are sent again. */
  #refuseOnly(changes: ReadonlyMap<string, SentChange>, name: string, message: string): void {
    const change = changes.get(name);
    if (change && this.refuse(change, message)) this.#sendAgain(changes, change);
  }

  #sendAgain(changes: ReadonlyMap<string, SentChange>, except: SentChange | undefined): void {
    for (const [name, change] of changes) if (change !== except) this.markAgain(name, change.previous);
    this.#isInitial = true;
  }

  #takeChanges(part: ReadonlySet<string> | undefined): Map<string, SentChange> {
    const changes = new Map<string, SentChange>();
    for (const [name, previous] of this.dirty) {
      if (part && !part.has(name)) continue;
      const sent = this.node.find(this.type, name);
      changes.set(name, { sent, previous });
      if (!this.isWildcard) this.#record(name, sent);
    }
    return changes;
  }

  #whole(later: Previous): readonly Uint8Array[] {
    const { store } = this.node;
    if (this.#search) {
      const { tested } = this.#search;
      const first = new Set(tested);
      const all = [...this.#visible(later)];
      const buffers = (resources: readonly Resource[]) =>
        resources.flatMap((resource) => resourceBuffers(resource, this.stream.delivery));
      return join([
        ...buffers(all.filter(({ name }) => first.has(name))),
        MARKER_BUFFER,
        ...buffers(all.filter(({ name }) => !first.has(name))),
      ]);
    }
    if (this.isWildcard && later.size === 0 && this.node.isLikeStore(this.type))
      return store.buffers(this.type, this.stream.delivery);
    return join([...this.#visible(later)].flatMap((resource) => resourceBuffers(resource, this.stream.delivery)));
  }

  *#visible(later: Previous): Generator<Resource> {
    const all = this.isWildcard ? this.node.ofType(this.type) : this.#sent.values();
    if (later.size === 0) {
      yield* all;
      return;
    }
    for (const resource of all) if (!later.has(resource.name)) yield resource;
    for (const resource of later.values()) if (resource) yield resource;
  }

  #changed(changes: ReadonlyMap<string, SentChange>): Uint8Array[] {
    const resources = [...changes.values()].flatMap(({ sent }) => sent ?? []);
    return resources.flatMap((resource) => resourceBuffers(resource, this.stream.delivery));
  }

  #version(later: Previous): string {
    if (!this.isWildcard) return this.#sum.toString();
    const { store } = this.node;
    return later.size === 0 && this.node.isLikeStore(this.type)
      ? store.versionOf(this.type)
      : combinedVersion(this.#visible(later));
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
