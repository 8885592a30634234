// The subscription of one stream to one type, and its progress: the names, the changes since the last response, and the sent changes that
// are not yet acknowledged. Changes of a name that arrive meanwhile become one.
import type { Delivery, Envoy, ResourceType } from '../envoy/index.ts';
import { NameSet } from './holding/subscription-index.ts';
import { type Resource, resourceKey, type Shape } from './resource.ts';
import type { XdsNode } from './xds-node.ts';

/** The stream that a subscription writes to. */
export interface SubscriptionStream {
  readonly delivery: Delivery;
  readonly shape: Shape;
  /** The client is slow: nothing may be written until it has read. */
  readonly isBlocked: boolean;
  send(type: ResourceType, buffers: readonly Uint8Array[]): void;
  nextNonce(): string;
  /** Ends the stream after an error of the server: the client comes back and starts from the beginning. */
  fail(): void;
}

export interface SentChange {
  readonly sent: Resource | undefined;
  /** The client's former version: it stays in force when the change is refused. */
  readonly previous: Resource | undefined;
}

interface InFlight {
  readonly changes: Map<string, SentChange>;
  readonly version: string;
  /** The order in which it was sent, among the events of the node. */
  readonly order: number;
}

/** A name that stands for all resources of the type. */
export const WILDCARD = '*';

export abstract class Subscription {
  readonly type: ResourceType;
  readonly stream: SubscriptionStream;
  readonly node: XdsNode;
  readonly names: NameSet;
  /** The length of all names. */
  nameCharacters = 0;
  /** The client had nothing of the type when it subscribed. */
  isFresh = true;
  /** Names to send, with the client's versions. */
  protected readonly dirty = new Map<string, Resource | undefined>();
  /** Names that are sent in responses of their own: a response with all of them was refused, or would be. */
  #parts: ReadonlySet<string>[] = [];
  /** By nonce. A stream of one name has at most one, and none most of the time: there is no map then. */
  #inFlight: Map<string, InFlight> | undefined;
  #isAnswered = false;

  constructor(type: ResourceType, stream: SubscriptionStream, node: XdsNode) {
    this.type = type;
    this.stream = stream;
    this.node = node;
    this.names = new NameSet(node.namesOf(type));
    node.add(this);
  }

  /** Sends pending changes, if the client can take them. */
  abstract flush(): void;

  get isWildcard(): boolean {
    return this.names.has(WILDCARD);
  }

  /** The client has acknowledged a response, or needed none. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  get isAwaitingAnswer(): boolean {
    return this.#inFlight !== undefined;
  }

  /** Reports whether the response with this nonce waits for an answer. */
  awaits(nonce: string): boolean {
    return this.#inFlight?.has(nonce) === true;
  }

  /** Names the kept snapshot where a response is made of it. */
  protected get controlPlane(): Envoy.ControlPlane | undefined {
    const { mark } = this.node.store;
    return mark === undefined ? undefined : { identifier: mark };
  }

  /** The number of responses that the client has not answered. */
  protected get unanswered(): number {
    return this.#inFlight?.size ?? 0;
  }

  isPending(name: string): boolean {
    return this.dirty.has(name) || this.isInFlight(name);
  }

  protected isInFlight(name: string): boolean {
    for (const { changes } of this.#inFlight?.values() ?? []) if (changes.has(name)) return true;
    return false;
  }

  /** Names to be sent or to be answered. */
  *pendingNames(): Generator<string> {
    yield* this.dirty.keys();
    for (const { changes } of this.#inFlight?.values() ?? []) yield* changes.keys();
  }

  mark(name: string, previous: Resource | undefined): void {
    if (!this.dirty.has(name)) this.dirty.set(name, previous);
    this.node.due(this);
  }

  /** Whether the client still asks for the name: it may drop one whose response is under way. */
  #covers(name: string): boolean {
    if (this.isWildcard || this.names.has(name)) return true;
    return this.type === 'vhds' && this.names.has(name.slice(0, name.lastIndexOf('/')));
  }

  /** Sends a resource again that the client has: for a reader that it has had since. */
  resend(name: string, current: Resource | undefined): void {
    if (!this.#covers(name)) return;
    if (!this.dirty.has(name)) this.dirty.set(name, current);
    this.node.due(this);
    this.flush();
  }

  close(): void {
    this.node.remove(this);
    this.names.clear();
  }

  /** The client's answer to a response; false when the nonce is not that of a response that waits for one. */
  answer(nonce: string, error: string | undefined): boolean {
    const response = this.#inFlight?.get(nonce);
    if (!response) return false;
    this.#isAnswered = true;
    this.#inFlight?.delete(nonce);
    if (this.#inFlight?.size === 0) this.#inFlight = undefined;
    this.settle();
    if (error !== undefined) this.#refuse(response.changes, error);
    this.node.answered(this, response, error === undefined ? undefined : { message: error });
    return true;
  }

  protected subscribe(name: string): void {
    if (!this.names.add(name)) return;
    this.nameCharacters += name.length;
    this.node.name(this, name);
  }

  protected unsubscribe(name: string): void {
    if (!this.names.delete(name)) return;
    this.nameCharacters -= name.length;
    this.node.unname(this, name);
    // These names stand for others as well.
    const possible = name === WILDCARD || this.type === 'vhds' ? [...this.dirty.keys()] : [name];
    const dropped = possible.filter((each) => !this.#covers(each) && this.dirty.delete(each));
    if (dropped.length > 0) this.node.dropped(this, dropped);
  }

  protected sent(nonce: string, version: string, changes: Map<string, SentChange>): void {
    this.#inFlight ??= new Map();
    this.#inFlight.set(nonce, { changes, version, order: this.node.tick() });
    this.node.wasSent(this.type, version);
    for (const name of changes.keys()) this.dirty.delete(name);
    if (this.dirty.size === 0) this.node.waits(this);
    else this.node.due(this);
  }

  protected settle(): void {
    if (this.dirty.size > 0 || this.isAwaitingAnswer) return;
    this.#isAnswered = true;
    this.node.settled(this);
  }

  /**
   * The names that the next response may have; undefined: all that are to be sent. Resources that some client refuses follow the others,
   * each in a response of its own. If there are many, they are sent in one response, and divided when that is refused: a client that refuses
   * everything must not cost others a response for each resource.
   */
  protected nextPart(): ReadonlySet<string> | undefined {
    for (let part = this.#parts.shift(); part; part = this.#parts.shift())
      for (const name of part) if (this.dirty.has(name)) return part;
    const { refused } = this.node;
    if (this.dirty.size < 2 || refused.size === 0) return undefined;
    const suspects = [...this.dirty.keys()].filter(
      (name) => refused.has(resourceKey(this.type, name)) && !this.isInFlight(name),
    );
    if (suspects.length === 0) return undefined;
    const alone = new Set(suspects);
    const others = [...this.dirty.keys()].filter((name) => !alone.has(name));
    const parts = suspects.length > MOST_ALONE ? [alone] : suspects.map((name) => new Set([name]));
    this.#parts.push(...(others.length > 0 ? [new Set(others)] : []), ...parts);
    return this.#parts.shift();
  }

  /** The response was full: the rest of its names are the next part. */
  protected returnPart(part: ReadonlySet<string>): void {
    this.#parts.unshift(part);
  }

  /**
   * Finds the refused resource. A response of one change leaves no doubt. Among several changes, those that the message of the client names
   * are sent again alone, after all others; if it names none, both halves are. A message may name innocent resources, too: Envoy prints the
   * resource that it refuses, with all names in it.
   */
  #refuse(changes: ReadonlyMap<string, SentChange>, message: string): void {
    if (this.search(changes, message)) return;
    const suspects = [...changes.keys()].filter((name) => isNamed(name, message));
    const [only, ...more] = changes.values();
    if (only && more.length === 0) {
      // A full response may be refused because of its unchanged resources.
      const others = suspects.length === 0 ? this.#namedOthers(message, only.sent?.name) : [];
      for (const sent of others) this.node.blame(this, sent, withoutDump(message));
      if (others.length === 0) this.refuse(only, message);
      return;
    }
    const names = [...changes.keys()];
    const half = names.length >> 1;
    const parts =
      suspects.length > 0 && suspects.length < names.length
        ? [names.filter((name) => !suspects.includes(name)), ...suspects.map((name) => [name])]
        : [names.slice(0, half), names.slice(half)];
    this.#parts.unshift(...parts.filter(({ length }) => length > 0).map((part) => new Set(part)));
    for (const [name, { previous }] of changes) this.markAgain(name, previous);
  }

  /** Whether the resource that is refused is looked for in another way. */
  protected search(_changes: ReadonlyMap<string, SentChange>, _message: string): boolean {
    return false;
  }

  /** False when the client goes on to be sent the resource: it cannot be left out. */
  protected refuse(change: SentChange, message: string): boolean {
    const { sent, previous } = change;
    if (sent) {
      this.restored(sent.name, previous);
      this.#correctPrevious(sent, previous);
    }
    return this.node.refuse(this, change, withoutDump(message));
  }

  /** Changes that came while the refused version was under way do not replace that one: the client never had it. */
  #correctPrevious(refused: Resource, previous: Resource | undefined): void {
    const { name } = refused;
    if (this.dirty.has(name)) this.dirty.set(name, previous);
    for (const { changes } of this.#inFlight?.values() ?? []) {
      const later = changes.get(name);
      if (later?.previous === refused) changes.set(name, { sent: later.sent, previous });
    }
  }

  /** The client has the previous version of a resource after a refusal. */
  protected restored(_name: string, _previous: Resource | undefined): void {}

  /** Marks a refused change, which is to be sent again. */
  protected markAgain(name: string, previous: Resource | undefined): void {
    this.restored(name, previous);
    if (!this.#covers(name)) return;
    this.dirty.set(name, previous);
    this.node.due(this);
  }

  #namedOthers(message: string, except: string | undefined): Resource[] {
    // Only these messages name the refused resource and no other.
    if (!NAMES_REFUSED.test(message)) return [];
    return [...this.node.ofType(this.type)].filter(({ name }) => name !== except && isNamed(name, message));
  }
}

/** Resources that some client refuses, and that others are sent one by one. */
const MOST_ALONE = 4;

const NAMES_REFUSED = /^Error adding\/updating (listener|cluster)\(s\) /;

/** Returns the listeners that a client reports as refused: it accepts all others of the same response. */
export function refusedListeners(names: readonly string[], message: string): string[] {
  const [prefix] = /^Error adding\/updating listener\(s\) /.exec(message) ?? [];
  if (prefix === undefined) return [];
  const lines = message.slice(prefix.length).split('\n');
  return names.filter((name) => lines.some((line) => line.startsWith(`${name}: `)));
}

/** As a whole: `ingress_http` is not named by a message about `ingress_https`. */
export function isNamed(name: string, message: string): boolean {
  // An empty name is found everywhere, and the search below would not end.
  if (name === '') return false;
  for (let at = message.indexOf(name); at !== -1; at = message.indexOf(name, at + 1))
    if (!/[-\w./]/.test(message[at - 1] ?? '') && !/^([-\w/]|\.\w)/.test(message.slice(at + name.length))) return true;
  return false;
}

/** Envoy prints the refused resource in front of the reason, which would be cut off where messages are short. */
function withoutDump(message: string): string {
  return message.replace(/goo\.gle\/debug[\s\S]*?(?=Proto constraint validation failed)/g, '').trim();
}
