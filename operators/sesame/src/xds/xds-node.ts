// One client (an Envoy) with all its streams: the resources that it has acknowledged and refused, and those that are held back from it, so
// that nothing is used before its dependencies are in place, and nothing is removed while it is still in use.
import type { Clock } from '@capstan/kube';
import { RESOURCE_TYPES, type ResourceType } from '../envoy/index.ts';
import { AwaitedEndpoints } from './holding/awaited-endpoints.ts';
import { HeldTime } from './holding/held-time.ts';
import { Removals } from './holding/removals.ts';
import { NameTable, SubscriptionIndex } from './holding/subscription-index.ts';
import { Isolations, type RefusedParts } from './isolation.ts';
import type { ListenerPlace } from './listener-place.ts';
import type { RefusedResources } from './refused-resources.ts';
import { isSameResource, type Resource, type ResourceKey, resourceKey } from './resource.ts';
import type { ResourceChange, ResourceStore } from './resource-store.ts';
import { type SentChange, type Subscription, WILDCARD } from './subscription.ts';

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

interface Held {
  readonly since: number;
  readonly isRemoval: boolean;
  /** The dependencies of all values since it is held: a composed resource names only those of its last change. */
  readonly requires: ReadonlySet<ResourceKey>;
  /** The first cluster of these that is not usable, and its endpoints if it waits for them. */
  readonly waitsFor: readonly ResourceKey[];
}

const USES_CLUSTERS: ReadonlySet<ResourceType> = new Set(['lds', 'rds', 'vhds']);

export class XdsNode {
  readonly id: string;
  /** Those with something to send or to be acknowledged. */
  readonly pending = new Set<Subscription>();
  /** Those of them with something to send: few, while thousands of streams wait for an acknowledgement. */
  readonly #unsent = new Set<Subscription>();
  readonly rejections = new Map<ResourceKey, Rejection>();
  readonly store: ResourceStore;
  /** The refusals of any client of the server. */
  readonly refused: RefusedResources;
  readonly #names: Names;
  readonly #place: ListenerPlace | undefined;
  readonly #onReport: (report: NodeReport) => void;
  /** The resources that this client sees in place of those in the store: the last value, while a change is held or after a refusal. */
  readonly #instead = new Map<ResourceKey, Resource | undefined>();
  readonly #held = new Map<ResourceKey, Held>();
  /** The held changes, by their dependencies: thousands of new routes may be held, and an answer concerns few of them. */
  readonly #waiting = new Map<ResourceKey, Set<ResourceKey>>();
  /** Dependencies that have ended since the last review. */
  readonly #settled = new Set<ResourceKey>();
  /** Routes and listeners that were sent, let go or dropped since the last review: removals may have waited for them. */
  readonly #settledRoutes = new Map<ResourceKey, number | undefined>();
  readonly #removals = new Removals();
  readonly #awaitedEndpoints: AwaitedEndpoints;
  readonly #time: HeldTime;
  readonly #onOverdue: (node: XdsNode, count: number) => void;
  #ticks = 0;
  /** When the change began that is taken now. */
  #changedAt = 0;
  readonly #acknowledged: Partial<Record<ResourceType, string>> = {};
  readonly #sent: Partial<Record<ResourceType, string>> = {};
  readonly #subscriptions = new SubscriptionIndex();
  /** Composed resources of which the client refuses a part. */
  readonly #isolations: Isolations;

  constructor(
    { id, place }: NodeIdentity,
    store: ResourceStore,
    clock: Clock,
    onReport: (report: NodeReport) => void,
    { parts, resources }: Refused,
    { contain, onOverdue }: NodeCalls,
    names: Names = new Map(),
  ) {
    this.#names = names;
    this.#isolations = new Isolations(parts);
    this.refused = resources;
    this.id = id;
    this.#place = place;
    this.store = store;
    this.#onReport = onReport;
    this.#onOverdue = onOverdue;
    this.#time = new HeldTime({
      clock,
      isNeeded: () => this.#held.size > 0,
      onTick: () =>
        contain(this, () => {
          this.#releaseOverdue();
          this.#review(this.#held.keys());
          this.#reviewSettled();
        }),
      onSoon: () => contain(this, () => this.#reviewSettled()),
    });
    this.#awaitedEndpoints = new AwaitedEndpoints({
      subscriptions: this.#subscriptions,
      time: this.#time,
      onSettled: (key) => this.#settled.add(key),
      resend: (endpoints, clusters) => this.#resend(endpoints, clusters),
    });
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
    for (const name of subscription.names) {
      this.unname(subscription, name);
      if (subscription.type === 'eds') this.#awaitedEndpoints.streamEnded(resourceKey('eds', name));
    }
    this.settled(subscription);
    if (USES_CLUSTERS.has(subscription.type)) this.dropped(subscription, subscription.pendingNames());
    // Unacknowledged resources of the type are not waited for any more.
    if (subscription.type === 'cds') for (const key of this.#waiting.keys()) this.#settled.add(key);
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
    this.#time.heard();
    this.#subscriptions.name(subscription, name);
  }

  /** The client begins with nothing, although it was here before: its process was restarted before its old streams ended. */
  begins({ type, names, isWildcard }: Beginning): void {
    const isAsked = (key: ResourceKey) => isWildcard || names.has(key.slice(type.length + 1));
    for (const key of this.#isolations.forget((each) => each.startsWith(`${type}/`) && isAsked(each)))
      if (!this.#held.has(key)) this.#release(key);
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
    this.#changedAt = this.tick();
    this.#removals.begin();
    // Full responses are composed of the client's view: until the decision, a removed resource is still there.
    for (const { key, before, after } of changes) {
      if (!isGated || after || !before || USES_CLUSTERS.has(before.type)) continue;
      if (!this.#instead.has(key)) this.#instead.set(key, before);
      // Absent resources are not waited for.
      this.#settled.add(key);
    }
    // Process removals last, so that routes that still use a cluster are seen first.
    for (const isRemoval of [false, true]) {
      for (const type of RESOURCE_TYPES) {
        for (const change of changes) {
          const isGone = change.after === undefined && !USES_CLUSTERS.has(type);
          if ((change.after ?? change.before)?.type === type && isGone === isRemoval)
            this.#change(change, type, isGated);
        }
      }
      this.flush();
    }
    this.#reviewSettled();
  }

  /** A number that is larger than all before it. */
  tick(): number {
    this.#ticks += 1;
    return this.#ticks;
  }

  /** A response was accepted or refused; changes that waited for it may go out. */
  answered(
    subscription: Subscription,
    { changes, version, order }: { changes: ReadonlyMap<string, SentChange>; version: string; order: number },
    refused?: { message: string },
  ): void {
    const { type } = subscription;
    this.#time.heard();
    if (USES_CLUSTERS.has(type) && !this.#removals.isEmpty)
      for (const name of changes.keys()) this.#routeSettled(resourceKey(type, name), order);
    if (refused && type === 'cds') this.#awaitedEndpoints.clustersRefused(subscription, changes);
    if (type === 'cds' && this.#waiting.size > 0)
      for (const name of changes.keys()) this.#settled.add(resourceKey(type, name));
    if (refused === undefined) {
      this.#acknowledged[type] = version;
      for (const [name, { sent }] of changes) {
        const key = sent?.key ?? resourceKey(type, name);
        if (this.rejections.size + this.refused.size > 0 && !this.#isKept(key, sent)) {
          this.rejections.delete(key);
          this.refused.forget(key);
        }
        if (sent?.composition && isWhole(subscription)) this.#accept(key, sent);
        if (type === 'cds') this.#awaitedEndpoints.clusterAcknowledged(sent?.requires ?? NONE);
        if (type === 'eds') this.#awaitedEndpoints.acknowledged(key, subscription, order);
      }
    }
    this.report();
    this.#reviewSettled();
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
    const isComposed = sent.composition !== undefined && isWhole(subscription);
    if (isComposed && this.#isolate(subscription, sent, message)) return true;
    this.blame(subscription, sent, message);
    const last = previous ?? this.refused.get(key)?.accepted;
    // A version that the client refuses now is not kept: it would be sent and refused for ever.
    const kept = isSameResource(last, sent) ? undefined : last;
    // It has the hosts of all: a client that comes back would lose those that it serves.
    if (isComposed && !kept && !subscription.isFresh) return false;
    // A listener at a place of this client is of no use to others.
    const accepted = sent.type === 'lds' && this.#hasMovedListeners() ? undefined : kept;
    this.refused.remember({ key, version: sent.version('whole'), message, accepted });
    // A change that came meanwhile takes its place. A removal that is held back does not: the client still sees the resource.
    const shown = this.#instead.has(key) ? this.#instead.get(key) : this.store.get(key);
    if (!isSameResource(shown, sent)) return true;
    this.#instead.set(key, kept);
    if (sent.type === 'eds') this.#awaitedEndpoints.refused(key);
    // Envoy has replaced a secret before it finds that no context can be made of it: listeners that come later would use it.
    if (kept && sent.type === 'sds') subscription.resend(sent.name, kept);
    return true;
  }

  /** Whether this is the version that the client keeps of a resource that it refuses. */
  #isKept(key: ResourceKey, sent: Resource | undefined): boolean {
    return this.rejections.has(key) && this.#instead.has(key) && isSameResource(this.#instead.get(key), sent);
  }

  /** Whether the client is sent nothing of a resource, because it refuses it. */
  isLeftOut(key: ResourceKey): boolean {
    return this.#instead.has(key) && this.#instead.get(key) === undefined && this.rejections.has(key);
  }

  /** Sends the resource without its refused parts, or with fewer changes to find them; false when they cannot be found. */
  #isolate(subscription: Subscription, sent: Resource, message: string): boolean {
    const { key } = sent;
    const wanted = this.store.get(key);
    const accepted = this.#isolations.accepted(key);
    // The resources of a client that reconnects are not known: with fewer parts it might lose hosts that it serves.
    if (!wanted || (!accepted && !subscription.isFresh)) return false;
    if (!this.#isolations.refused(sent, wanted, message)) return false;
    this.#show(key, accepted);
    return true;
  }

  #accept(key: ResourceKey, sent: Resource): void {
    if (this.#isolations.accept(key, sent)) this.#show(key, sent);
  }

  /** Lets the client see its next version of a resource with a refused part, and sends that if the client has another one. */
  #show(key: ResourceKey, accepted: Resource | undefined): void {
    this.#release(key);
    const next = this.#instead.get(key) ?? this.store.get(key);
    if (!next || next.version('whole') === accepted?.version('whole')) return;
    this.#mark(next.type, next.name, accepted);
  }

  /** From now on the client sees the store's version, except for parts that it refuses. */
  #release(key: ResourceKey): void {
    this.#instead.delete(key);
    const wanted = this.store.get(key);
    const next = this.#isolations.next(key, wanted);
    if (next !== wanted) this.#instead.set(key, next);
    this.#reportParts(key);
  }

  /** Each part that is kept back is a refusal of its own, with the objects that it comes from. */
  #reportParts(key: ResourceKey): void {
    for (const each of this.rejections.keys()) if (each.startsWith(`${key}#`)) this.rejections.delete(each);
    const kept = this.#isolations.kept(key);
    if (!kept) return;
    this.rejections.delete(key);
    const name = key.slice(key.indexOf('/') + 1);
    for (const part of kept) {
      // The same host as a resource of its own knows where it comes from.
      const own = this.store.get(`vhds/${name}/${part.name}`) ?? this.store.get(`rds/https/${part.name}`);
      const { message } = part;
      const origins = own?.origins ?? [];
      this.rejections.set(`${key}#${part.name}`, { key: `${key}#${part.name}`, version: '', message, origins });
    }
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
    this.#onReport(this.current());
  }

  current(): NodeReport {
    return {
      node: this.id,
      streams: this.#subscriptions.streams.size,
      acknowledged: { ...this.#acknowledged },
      sent: { ...this.#sent },
      rejections: [...this.rejections.values()],
    };
  }

  close(): void {
    this.#held.clear();
    this.#waiting.clear();
    this.#removals.clear();
    this.#settledRoutes.clear();
    this.#time.stop();
  }

  /** Changes went out. */
  sent(subscription: Subscription, changes: ReadonlyMap<string, SentChange>): void {
    if (subscription.type === 'cds') this.#awaitedEndpoints.clustersSent(subscription, changes, this.tick());
  }

  /** Changes of these names are not under way any more. */
  dropped({ type }: Subscription, names: Iterable<string>): void {
    if (USES_CLUSTERS.has(type)) for (const name of names) this.#routeSettled(resourceKey(type, name), undefined);
    else if (type === 'cds') for (const name of names) this.#settled.add(resourceKey(type, name));
    else if (type === 'eds') for (const name of names) this.#awaitedEndpoints.refused(resourceKey(type, name));
    // A subscription that is sending now calls this: resources that it lets go are sent afterwards.
    if (this.#settledRoutes.size + this.#settled.size > 0) this.#time.soon();
  }

  #routeSettled(key: ResourceKey, order: number | undefined): void {
    if (this.#removals.awaits(key)) this.#settledRoutes.set(key, order);
  }

  #resend(endpoints: ResourceKey, { stream }: Subscription): void {
    const name = endpoints.slice('eds/'.length);
    for (const other of this.#subscriptions.naming('eds', name))
      if (other.stream === stream) other.resend(name, this.get(endpoints));
  }

  #change({ key, before, after }: ResourceChange, type: ResourceType, isGated: boolean): void {
    const seen = this.#instead.has(key) ? this.#instead.get(key) : before;
    const requires = new Set([...(this.#held.get(key)?.requires ?? NONE), ...(after?.requires ?? NONE)]);
    this.#release(key);
    this.#unhold(key);
    const waitsFor = isGated && after && USES_CLUSTERS.has(type) ? this.#unusable(requires) : NONE;
    if (waitsFor.length > 0) {
      this.#hold(key, seen, { isRemoval: false, requires, waitsFor });
      return;
    }
    if (isGated && !after && !USES_CLUSTERS.has(type)) {
      if (this.#removals.hold(key, this.#changedAt, () => this.#routesUnderWay())) {
        this.#hold(key, seen, { isRemoval: true, requires, waitsFor });
        return;
      }
    }
    this.#mark(type, after?.name ?? before?.name ?? '', seen);
  }

  #hold(key: ResourceKey, seen: Resource | undefined, held: Omit<Held, 'since'> & { since?: number }): void {
    this.#instead.set(key, seen);
    this.#held.set(key, { since: this.#time.now, ...held });
    for (const awaited of held.waitsFor) addTo(this.#waiting, awaited, key);
    this.#time.start();
  }

  #unhold(key: ResourceKey): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    if (held.isRemoval) this.#removals.drop(key);
    else this.#routeSettled(key, undefined);
    for (const awaited of held.waitsFor) removeFrom(this.#waiting, awaited, key);
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

  /** The first of these clusters that the client cannot use yet, and its endpoints if it waits for them. */
  #unusable(keys: ReadonlySet<ResourceKey>): readonly ResourceKey[] {
    for (const key of keys) {
      const cluster = this.store.get(key);
      // An absent cluster cannot be waited for.
      if (!cluster) continue;
      for (const subscription of this.#subscriptions.ofType('cds'))
        if (subscription.isPending(cluster.name)) return [key];
      for (const required of cluster.requires) {
        const state = this.#awaitedEndpoints.check(required);
        if (state === 'awaited') return [key, required];
        if (state === 'overdue') this.#onOverdue(this, 1);
      }
    }
    return NONE;
  }

  /** Routes and listeners that are held, or that the client has not answered. */
  *#routesUnderWay(): Generator<ResourceKey> {
    for (const [key, { isRemoval }] of this.#held) if (!isRemoval) yield key;
    for (const subscription of this.pending)
      if (USES_CLUSTERS.has(subscription.type))
        for (const name of subscription.pendingNames()) yield resourceKey(subscription.type, name);
  }

  #isUnderWay(key: ResourceKey): boolean {
    const at = key.indexOf('/');
    for (const subscription of this.pending)
      if (subscription.type === key.slice(0, at) && subscription.isPending(key.slice(at + 1))) return true;
    return false;
  }

  /** Reviews the changes whose dependency has settled. */
  #reviewSettled(): void {
    const keys = new Set<ResourceKey>();
    for (const settled of this.#settled) for (const key of this.#waiting.get(settled) ?? NONE) keys.add(key);
    this.#settled.clear();
    this.#review(keys);
    for (const [route, order] of this.#settledRoutes) {
      // A held change has not reached the client, whatever was sent meanwhile.
      if (this.#held.has(route)) continue;
      const isUnderWay = this.#isUnderWay(route);
      if (isUnderWay && order === undefined) continue;
      for (const key of this.#removals.answered(route, isUnderWay ? order : undefined)) this.#letGo(key);
    }
    this.#settledRoutes.clear();
    this.flush();
  }

  /** Releases routes whose dependencies are in place. */
  #review(keys: Iterable<ResourceKey>): void {
    // A route that still waits is held again, behind all others.
    const reviewed = [...keys];
    for (const key of reviewed) {
      const held = this.#held.get(key);
      if (!held || held.isRemoval) continue;
      const waitsFor = this.#unusable(held.requires);
      if (waitsFor.length === 0) this.#letGo(key);
      else {
        const seen = this.#instead.get(key);
        this.#unhold(key);
        this.#hold(key, seen, { ...held, waitsFor });
      }
    }
    this.flush();
  }

  #letGo(key: ResourceKey): void {
    const seen = this.#instead.get(key);
    this.#unhold(key);
    this.#release(key);
    const at = key.indexOf('/');
    this.#mark(key.slice(0, at) as ResourceType, key.slice(at + 1), seen);
  }

  /** A client that answers nothing gets everything: routes first. */
  #releaseOverdue(): void {
    const overdue = [...this.#held].filter(([, { since }]) => this.#time.isSilent(since));
    if (overdue.length === 0) return;
    this.#onOverdue(this, overdue.length);
    for (const isRemoval of [false, true]) {
      for (const [key, held] of overdue) if (held.isRemoval === isRemoval && this.#held.has(key)) this.#letGo(key);
      this.flush();
    }
  }
}

/** Split into its parts a resource is refused part by part. */
function isWhole({ type, stream }: Subscription): boolean {
  return stream.shape === 'whole' || type === 'lds';
}

const NONE: readonly never[] = [];
const ORDER = new Map(RESOURCE_TYPES.map((type, index) => [type, index]));

function orderOf(type: ResourceType): number {
  return ORDER.get(type) ?? 0;
}

function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set) set.add(value);
  else map.set(key, new Set([value]));
}

function removeFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set?.delete(value) === true && set.size === 0) map.delete(key);
}
