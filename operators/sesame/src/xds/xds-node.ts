// One client (an Envoy) with all its streams: the resources that it has acknowledged and refused, and those that are held back from it, so
// that nothing is used before its dependencies are in place, and nothing is removed while it is still in use.
import type { Clock } from '@capstan/kube';
import { RESOURCE_TYPES, type ResourceType } from '../envoy/index.ts';
import { type Held, HeldChanges, USES_CLUSTERS } from './holding/held-changes.ts';
import { NameTable, SubscriptionIndex } from './holding/subscription-index.ts';
import type { ListenerPlace } from './listener-place.ts';
import { ClientRefusals, isWhole, type Refused, type Rejection } from './refusals/client-refusals.ts';
import type { RefusedResources } from './refusals/refused-resources.ts';
import { type Resource, type ResourceKey, resourceKey } from './resource.ts';
import type { ResourceChange, ResourceStore } from './resource-store.ts';
import { type SentChange, type Subscription, WILDCARD } from './subscription.ts';

/** The calls of a client to its server. */
export interface NodeCalls {
  /** Ends the client's streams when the call fails. */
  contain(node: XdsNode, call: () => void): void;
  /** This number of resources is sent although the client has not answered their dependencies. */
  onOverdue(node: XdsNode, count: number): void;
}

/** The names that the clients of a server ask for, by type. */
export type Names = Map<ResourceType, NameTable>;

export interface NodeIdentity {
  readonly id: string;
  /** Where its listeners are; default: as configured. */
  readonly place?: ListenerPlace | undefined;
}

export interface NodeReport {
  readonly node: string;
  readonly streams: number;
  /** The last accepted version of each type. */
  readonly acknowledged: Readonly<Partial<Record<ResourceType, string>>>;
  /** The last sent version of each type. */
  readonly sent: Readonly<Partial<Record<ResourceType, string>>>;
  readonly rejections: readonly Rejection[];
}

/** A first request: its type, and the names that it asks for. */
interface Beginning extends Pick<Subscription, 'type' | 'isWildcard'> {
  readonly names: Pick<ReadonlySet<string>, 'has'>;
}

export class XdsNode {
  readonly id: string;
  /** Those with something to send or to be acknowledged. */
  readonly pending = new Set<Subscription>();
  /** Those of them with something to send: few, while thousands of streams wait for an acknowledgement. */
  readonly #unsent = new Set<Subscription>();
  readonly store: ResourceStore;
  /** The refusals of any client of the server. */
  readonly refused: RefusedResources;
  readonly #names: Names;
  readonly #place: ListenerPlace | undefined;
  readonly #onReport: () => void;
  /** The resources that this client sees in place of those in the store: the last value, while a change is held or after a refusal. */
  readonly #instead = new Map<ResourceKey, Resource | undefined>();
  readonly #subscriptions = new SubscriptionIndex();
  readonly #holding: HeldChanges;
  readonly #allRefused: Refused;
  /** Undefined: the client has refused nothing. */
  #refusals: ClientRefusals | undefined;
  #ticks = 0;
  readonly #acknowledged: Partial<Record<ResourceType, string>> = {};
  readonly #sent: Partial<Record<ResourceType, string>> = {};

  constructor(
    { id, place }: NodeIdentity,
    store: ResourceStore,
    clock: Clock,
    onReport: () => void,
    refused: Refused,
    { contain, onOverdue }: NodeCalls,
    names: Names = new Map(),
  ) {
    this.#names = names;
    this.#allRefused = refused;
    this.refused = refused.resources;
    this.id = id;
    this.#place = place;
    this.store = store;
    this.#onReport = onReport;
    this.#holding = new HeldChanges(
      {
        store,
        pending: this.pending,
        instead: this.#instead,
        get: (key) => this.get(key),
        flush: () => this.flush(),
        letGo: (key, seen) => this.#letGo(key, seen),
        contain: (call) => contain(this, call),
        onOverdue: (count) => onOverdue(this, count),
      },
      this.#subscriptions,
      clock,
    );
  }

  /** The names of this type that any client of the server asks for. */
  namesOf(type: ResourceType): NameTable {
    let table = this.#names.get(type);
    if (!table) this.#names.set(type, (table = new NameTable()));
    return table;
  }

  get isIdle(): boolean {
    return this.#subscriptions.streams.size === 0;
  }

  /** Ends all streams of the client. */
  fail(): void {
    for (const stream of this.#subscriptions.streams.keys()) stream.fail();
  }

  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
  }

  remove(subscription: Subscription): void {
    this.#subscriptions.remove(subscription);
    for (const name of subscription.names) this.unname(subscription, name);
    this.settled(subscription);
    this.#holding.ended(subscription);
  }

  /** The subscription has something to send. */
  due(subscription: Subscription): void {
    this.pending.add(subscription);
    this.#unsent.add(subscription);
  }

  /** The subscription waits for an acknowledgement, and has nothing more to send. */
  waits(subscription: Subscription): void {
    this.pending.add(subscription);
    this.#unsent.delete(subscription);
  }

  settled(subscription: Subscription): void {
    this.pending.delete(subscription);
    this.#unsent.delete(subscription);
  }

  name(subscription: Subscription, name: string): void {
    this.#holding.heard();
    this.#subscriptions.name(subscription, name);
  }

  /** The client begins with nothing, although it was here before: its process was restarted before its old streams ended. */
  begins({ type, names, isWildcard }: Beginning): void {
    const isAsked = (key: ResourceKey) => isWildcard || names.has(key.slice(type.length + 1));
    const forgotten = this.#refusals?.forget((each) => each.startsWith(`${type}/`) && isAsked(each));
    for (const key of forgotten ?? []) if (!this.#holding.held.has(key)) this.#release(key);
  }

  unname(subscription: Subscription, name: string): void {
    this.#subscriptions.unname(subscription, name);
  }

  /** The resource as this client should see it now. */
  get(key: ResourceKey): Resource | undefined {
    const resource = this.#instead.has(key) ? this.#instead.get(key) : this.store.get(key);
    return this.#place === undefined ? resource : resource?.at(this.#place);
  }

  /** The same without a key: most clients see the content of the store. */
  find(type: ResourceType, name: string): Resource | undefined {
    if (this.#instead.size > 0) return this.get(resourceKey(type, name));
    const resource = this.store.find(type, name);
    return this.#place === undefined ? resource : resource?.at(this.#place);
  }

  /** Whether the client sees exactly the store's resources of the type. */
  isLikeStore(type: ResourceType): boolean {
    if (type === 'lds' && this.#hasMovedListeners()) return false;
    for (const key of this.#instead.keys()) if (key.startsWith(`${type}/`)) return false;
    return true;
  }

  #hasMovedListeners(): boolean {
    const place = this.#place;
    return (
      place !== undefined && [...this.store.ofType('lds').values()].some((listener) => listener.at(place) !== listener)
    );
  }

  *ofType(type: ResourceType): Generator<Resource> {
    const prefix = `${type}/`;
    if (this.#instead.size === 0 && this.#place === undefined) {
      yield* this.store.ofType(type).values();
      return;
    }
    for (const resource of this.store.ofType(type).values()) {
      const seen = this.get(resource.key);
      if (seen) yield seen;
    }
    for (const [key, resource] of this.#instead)
      if (key.startsWith(prefix) && resource && !this.store.get(key)) yield this.get(key) ?? resource;
  }

  changed(changes: readonly ResourceChange[]): void {
    const isGated = this.#subscriptions.has('cds');
    const changedAt = this.tick();
    const { settled, settledRoutes } = this.#holding;
    // Full responses are composed of the client's view: until the decision, a removed resource is still there.
    for (const { key, before, after } of changes) {
      if (!isGated || after || !before || USES_CLUSTERS.has(before.type)) continue;
      if (!this.#instead.has(key)) this.#instead.set(key, before);
      // Absent resources are not waited for.
      settled.add(key);
    }
    // Process removals last, so that routes that still use a cluster are seen first.
    for (const isRemoval of [false, true]) {
      for (const type of RESOURCE_TYPES) {
        for (const change of changes) {
          const isGone = change.after === undefined && !USES_CLUSTERS.has(type);
          if ((change.after ?? change.before)?.type === type && isGone === isRemoval)
            this.#change(change, type, isGated, changedAt);
        }
      }
      this.flush();
    }
    if (settled.size + settledRoutes.size > 0) this.#holding.review();
  }

  /** A number that is larger than all before it. */
  tick(): number {
    this.#ticks += 1;
    return this.#ticks;
  }

  /** A response was accepted or refused; changes that waited for it may go out. */
  answered(
    subscription: Subscription,
    response: { changes: ReadonlyMap<string, SentChange>; version: string; order: number },
    refused?: { message: string },
  ): void {
    const { type } = subscription;
    this.#holding.answered(subscription, response, refused !== undefined);
    if (refused === undefined) {
      this.#acknowledged[type] = response.version;
      const hasRefusals = this.#refusals !== undefined || this.refused.size > 0;
      const isComposedWhole = isWhole(subscription);
      for (const [name, { sent }] of response.changes) {
        const isComposed = sent?.composition !== undefined && isComposedWhole;
        if (hasRefusals || isComposed)
          this.#refusing().accepted(sent?.key ?? resourceKey(type, name), sent, isComposedWhole);
      }
    }
    this.report();
    this.#holding.review();
  }

  /** Reports a refusal of a resource that the client goes on to see. */
  blame(subscription: Subscription, resource: Resource, message: string): void {
    this.#refusing().blame(subscription, resource, message);
  }

  /** Lets the client see its last accepted version, or nothing; false when it continues to see the refused one. */
  refuse(subscription: Subscription, change: SentChange, message: string): boolean {
    return this.#refusing().refuse(subscription, change, message);
  }

  /** Whether the client is sent nothing of a resource, because it refuses it. */
  isLeftOut(key: ResourceKey): boolean {
    return this.#refusals?.isLeftOut(key) === true;
  }

  #refusing(): ClientRefusals {
    this.#refusals ??= new ClientRefusals(
      {
        store: this.store,
        instead: this.#instead,
        hasMovedListeners: () => this.#hasMovedListeners(),
        release: (key) => this.#release(key),
        mark: (type, name, seen) => this.#mark(type, name, seen),
        onEndpointsRefused: (key) => this.#holding.endpoints.refused(key),
      },
      this.#allRefused,
    );
    return this.#refusals;
  }

  /** From now on the client sees the store's version, except for parts that it refuses. */
  #release(key: ResourceKey): void {
    this.#instead.delete(key);
    if (!this.#refusals && this.#allRefused.parts.size === 0) return;
    const wanted = this.store.get(key);
    const next = this.#refusing().withoutParts(key, wanted);
    if (next !== wanted) this.#instead.set(key, next);
  }

  /** Sends all permitted changes, in the order in which resources refer to one another. */
  flush(): void {
    if (this.#unsent.size === 0) return;
    const ready = [...this.#unsent];
    if (ready.length > 1) ready.sort((left, right) => orderOf(left.type) - orderOf(right.type));
    for (const subscription of ready) subscription.flush();
  }

  /** A response with this version is on its way to the client. */
  wasSent(type: ResourceType, version: string): void {
    this.#sent[type] = version;
  }

  report(): void {
    this.#onReport();
  }

  current(): NodeReport {
    return {
      node: this.id,
      streams: this.#subscriptions.streams.size,
      acknowledged: { ...this.#acknowledged },
      sent: { ...this.#sent },
      rejections: [...(this.#refusals?.rejections.values() ?? [])],
    };
  }

  close(): void {
    this.#holding.close();
  }

  /** Changes went out. */
  sent(subscription: Subscription, changes: ReadonlyMap<string, SentChange>): void {
    if (subscription.type === 'cds') this.#holding.endpoints.clustersSent(subscription, changes, this.tick());
  }

  /** Changes of these names are not under way any more. */
  dropped(subscription: Subscription, names: Iterable<string>): void {
    this.#holding.dropped(subscription, names);
  }

  #change({ key, before, after }: ResourceChange, type: ResourceType, isGated: boolean, changedAt: number): void {
    const { held, endpoints } = this.#holding;
    const seen = this.#instead.has(key) ? this.#instead.get(key) : before;
    const earlier = held.get(key);
    this.#release(key);
    if (earlier) this.#holding.unhold(key);
    // The server waits for nothing of a client that has answered everything.
    const isAtRest = this.pending.size + held.size + endpoints.awaited.size === 0;
    if (isGated && !isAtRest) {
      const requires = requiredBy(earlier, after);
      if (this.#holding.hold({ key, type, after }, { seen, requires, changedAt })) return;
    }
    this.#mark(type, after?.name ?? before?.name ?? '', seen);
  }

  #letGo(key: ResourceKey, seen: Resource | undefined): void {
    this.#release(key);
    const at = key.indexOf('/');
    this.#mark(key.slice(0, at) as ResourceType, key.slice(at + 1), seen);
  }

  #mark(type: ResourceType, name: string, seen: Resource | undefined): void {
    this.#markAll(type, name, name, seen);
    // A subscription to virtual hosts names the route configuration that they belong to.
    if (type === 'vhds') this.#markAll(type, name.slice(0, name.lastIndexOf('/')), name, seen);
    this.#markAll(type, WILDCARD, name, seen);
  }

  /** Marks a name at the subscriptions that ask for it, or for another name that stands for it. */
  #markAll(type: ResourceType, asked: string, name: string, seen: Resource | undefined): void {
    for (const subscription of this.#subscriptions.naming(type, asked)) subscription.mark(name, seen);
  }
}

/** A change that was held keeps its dependencies: a composed resource names only those of its last change. */
function requiredBy(earlier: Held | undefined, after: Resource | undefined): ReadonlySet<ResourceKey> {
  return new Set([...(earlier?.requires ?? NONE), ...(after?.requires ?? NONE)]);
}

const NONE: readonly never[] = [];
const ORDER = new Map(RESOURCE_TYPES.map((type, index) => [type, index]));

function orderOf(type: ResourceType): number {
  return ORDER.get(type) ?? 0;
}
