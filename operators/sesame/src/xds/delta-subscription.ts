// Delta: each response has the resources that changed and the names of those that are gone.
import { encode, typeUrl } from '../envoy/index.ts';
import { MAX_UNANSWERED } from './limits.ts';
import { type Resource, resourceKey, type Shape } from './resource.ts';
import { sizeOf } from './resource-store.ts';
import { type SentChange, Subscription, WILDCARD } from './subscription.ts';

export interface DeltaDiscoveryRequest {
  readonly resource_names_subscribe?: readonly string[];
  readonly resource_names_unsubscribe?: readonly string[];
  readonly initial_resource_versions?: Readonly<Record<string, string>>;
  readonly response_nonce?: string;
  readonly error_detail?: { readonly message?: string };
}

/** A response is closed when it has this many bytes: a slow client gets the rest when it has read. */
const RESPONSE_SIZE = 2 * 1024 * 1024;

export class DeltaSubscription extends Subscription {
  #isStarted = false;
  #mustRespond = false;

  request({
    resource_names_subscribe: added = [],
    resource_names_unsubscribe: removed = [],
    initial_resource_versions: has = {},
    response_nonce: nonce = '',
    error_detail: error,
  }: DeltaDiscoveryRequest): void {
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    for (const name of removed) this.unsubscribe(name);
    if (isFirst) {
      this.isFresh = Object.keys(has).length === 0;
      this.#mustRespond = this.isFresh;
      if (this.#mustRespond) this.node.due(this);
    }
    const asked = isFirst && added.length === 0 ? [WILDCARD] : added;
    if (isFirst && this.isFresh)
      this.node.begins({ type: this.type, names: new Set(asked), isWildcard: asked.includes(WILDCARD) });
    for (const name of asked) this.#subscribe(name, has);
    for (const name of isFirst ? Object.keys(has) : []) this.#compare(name, has);
    // A name that a wildcard stands for may be unknown to the client from now on.
    if (this.isWildcard) for (const name of removed) if (name !== WILDCARD) super.mark(name, undefined);
    if (nonce !== '') this.answer(nonce, error && (error.message ?? 'no message'));
    this.flush();
  }

  flush(): void {
    let hasSent = true;
    // A client that never answers gets no more after a while: its unanswered changes are kept.
    while (
      hasSent &&
      (this.dirty.size > 0 || this.#mustRespond) &&
      !this.stream.isBlocked &&
      this.unanswered < MAX_UNANSWERED
    )
      hasSent = this.#respond();
    this.settle();
  }

  /** A split resource does not change with its parts. */
  override mark(name: string, previous: Resource | undefined): void {
    const { shape } = this.stream;
    const next = this.node.find(this.type, name);
    const isSame = previous !== undefined && next !== undefined && previous.version(shape) === next.version(shape);
    if (!isSame || this.dirty.has(name)) super.mark(name, previous);
  }

  #subscribe(name: string, has: Readonly<Record<string, string>>): void {
    this.subscribe(name);
    if (name === WILDCARD) {
      for (const resource of this.node.ofType(this.type)) this.#compare(resource.name, has);
      return;
    }
    if (this.type === 'vhds') {
      // The name of a route configuration stands for all its virtual hosts.
      const prefix = `${name}/`;
      const hosts = [...this.node.ofType(this.type)].filter((resource) => resource.name.startsWith(prefix));
      for (const host of hosts) this.#compare(host.name, has);
      if (hosts.length > 0 || this.node.find('rds', name)) return;
    }
    this.#compare(name, has);
  }

  #compare(name: string, has: Readonly<Record<string, string>>): void {
    const resource = this.node.find(this.type, name);
    const version = Object.hasOwn(has, name) ? has[name] : undefined;
    const isSame = resource !== undefined && resource.version(this.stream.shape) === version;
    if (!isSame) super.mark(name, undefined);
  }

  /** False when there is nothing that may be sent. */
  #respond(): boolean {
    const { delivery, shape } = this.stream;
    const entries: Entry[] = [];
    const removed: string[] = [];
    const changes = new Map<string, SentChange>();
    let size = 0;
    const part = this.nextPart();
    for (const [name, previous] of this.dirty) {
      if (part && !part.has(name)) continue;
      if (size > RESPONSE_SIZE) {
        if (part) this.returnPart(part);
        break;
      }
      const sent = this.node.find(this.type, name);
      // The client keeps the version that it has of a resource that it refuses.
      if (!sent && this.node.isLeftOut(resourceKey(this.type, name))) {
        this.dirty.delete(name);
        this.node.dropped(this, [name]);
        continue;
      }
      const buffers = sent?.buffers(delivery, shape) ?? [];
      // A composed resource may change with each of its parts: the client gets the newest when it has read the last.
      if (buffers.length > 1 && this.isInFlight(name)) continue;
      changes.set(name, { sent, previous });
      if (sent) {
        entries.push({ resource: sent, buffers });
        size += sizeOf(buffers);
      } else removed.push(name);
    }
    if (changes.size === 0 && !this.#mustRespond) return part !== undefined;
    this.#mustRespond = false;
    const nonce = this.stream.nextNonce();
    this.sent(nonce, nonce, changes);
    const head = encode('envoy.service.discovery.v3.DeltaDiscoveryResponse', {
      type_url: typeUrl(this.type),
      nonce,
      removed_resources: removed,
      control_plane: this.controlPlane,
    });
    this.stream.send(this.type, [...resourceEntries(entries, shape), head]);
    this.node.sent(this, changes);
    return true;
  }
}

/** A resource with its bytes. */
interface Entry {
  readonly resource: Resource;
  readonly buffers: readonly Uint8Array[];
}

/** The resources as entries of a response: those in one buffer are copied into one buffer, composed ones follow as they are. */
function resourceEntries(entries: readonly Entry[], shape: Shape): Uint8Array[] {
  const found: Uint8Array[] = [];
  let small: Entry[] = [];
  const close = () => {
    if (small.length > 0) found.push(copied(small, shape));
    small = [];
  };
  for (const entry of entries) {
    small.push(entry);
    if (entry.buffers.length === 1) continue;
    close();
    found.push(...entry.buffers);
  }
  close();
  return found;
}

/** Entries in one buffer; of one in several buffers its head only. A Resource is field 2, with version 1, name 3 and the Any 2. */
function copied(entries: readonly Entry[], shape: Shape): Buffer {
  const sizes: number[] = [];
  let total = 0;
  for (const { resource, buffers } of entries) {
    const length = sizeOf(buffers);
    const size =
      sizeOfField(resource.version(shape).length) + sizeOfField(Buffer.byteLength(resource.name)) + sizeOfField(length);
    sizes.push(size);
    total += sizeOfField(size) - (buffers.length === 1 ? 0 : length);
  }
  const buffer = Buffer.allocUnsafe(total);
  let at = 0;
  const head = (tag: number, length: number) => {
    buffer[at++] = tag;
    let rest = length;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) buffer[at++] = (rest & 0x7f) | 0x80;
    buffer[at++] = rest;
  };
  for (const [index, { resource, buffers }] of entries.entries()) {
    const version = resource.version(shape);
    head(0x12, sizes[index] ?? 0);
    head(0x0a, version.length);
    at += buffer.write(version, at, 'latin1');
    head(0x1a, Buffer.byteLength(resource.name));
    at += buffer.write(resource.name, at);
    head(0x12, sizeOf(buffers));
    const [only, ...more] = buffers;
    if (!only || more.length > 0) continue;
    buffer.set(only, at);
    at += only.length;
  }
  return buffer;
}

/** Tag, length and value. */
function sizeOfField(length: number): number {
  let size = 2 + length;
  for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}
