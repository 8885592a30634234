// Delta: each response has the resources that changed and the names of those that are gone.
import { encode, typeUrl } from '../envoy/index.ts';
import { type Resource, resourceKey } from './resource.ts';
import { lengthPrefix } from './resource-store.ts';
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
      this.#mustRespond = Object.keys(has).length === 0;
      if (this.#mustRespond) this.node.pending.add(this);
    }
    for (const name of isFirst && added.length === 0 ? [WILDCARD] : added) this.#subscribe(name, has);
    for (const name of isFirst ? Object.keys(has) : []) this.#compare(name, has);
    if (nonce !== '') this.answer(nonce, error && (error.message ?? 'no message'));
    this.flush();
  }

  flush(): void {
    while ((this.dirty.size > 0 || this.#mustRespond) && !this.stream.isBlocked) this.#respond();
    this.settle();
  }

  /** A split resource does not change with what it was split into. */
  override mark(name: string, previous: Resource | undefined): void {
    const { shape } = this.stream;
    const next = this.node.get(resourceKey(this.type, name));
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
      if (hosts.length > 0 || this.node.get(resourceKey('rds', name))) return;
    }
    this.#compare(name, has);
  }

  #compare(name: string, has: Readonly<Record<string, string>>): void {
    const resource = this.node.get(resourceKey(this.type, name));
    const version = Object.hasOwn(has, name) ? has[name] : undefined;
    const isSame = resource !== undefined && resource.version(this.stream.shape) === version;
    if (!isSame) this.mark(name, undefined);
  }

  #respond(): void {
    const pieces: Uint8Array[] = [];
    const removed: string[] = [];
    const changes = new Map<string, SentChange>();
    let size = 0;
    for (const [name, previous] of this.dirty) {
      const sent = this.node.get(resourceKey(this.type, name));
      changes.set(name, { sent, previous });
      if (sent) size += this.#add(pieces, sent);
      else removed.push(name);
      if (size > RESPONSE_SIZE) break;
    }
    this.#mustRespond = false;
    const nonce = this.stream.nextNonce();
    this.sent(nonce, nonce, changes);
    const head = encode('envoy.service.discovery.v3.DeltaDiscoveryResponse', {
      type_url: typeUrl(this.type),
      nonce,
      removed_resources: removed,
    });
    this.stream.send(this.type, [...pieces, head]);
  }

  /** A Resource is field 2 of the response: version 1, the Any 2, name 3. */
  #add(pieces: Uint8Array[], resource: Resource): number {
    const { delivery, shape } = this.stream;
    const version = Buffer.from(resource.version(shape));
    const name = Buffer.from(resource.name);
    const any = resource.bytes(delivery, shape);
    const inner = [
      lengthPrefix(0x0a, version.length),
      version,
      lengthPrefix(0x1a, name.length),
      name,
      lengthPrefix(0x12, any.length),
      any,
    ];
    const size = inner.reduce((sum, { length }) => sum + length, 0);
    pieces.push(lengthPrefix(0x12, size), ...inner);
    return size;
  }
}
