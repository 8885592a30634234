// Changes that are held back from one client: routes and listeners until their clusters are usable, removals until no route that is under way
// may still use them. Each waits for an answer of the client, within the limits of HeldTime.
import type { Clock } from '@capstan/kube';
import type { ResourceType } from '../../envoy/index.ts';
import { type Resource, type ResourceKey, resourceKey } from '../resource.ts';
import type { ResourceStore } from '../resource-store.ts';
import type { SentChange, Subscription } from '../subscription.ts';
import { AwaitedEndpoints } from './awaited-endpoints.ts';
import { HeldTime } from './held-time.ts';
import { Removals } from './removals.ts';
import type { SubscriptionIndex } from './subscription-index.ts';

export interface Held {
  readonly since: number;
  readonly isRemoval: boolean;
  /** The dependencies of all values since it is held: a composed resource names only those of its last change. */
  readonly requires: ReadonlySet<ResourceKey>;
  /** The first cluster of these that is not usable, and its endpoints if it waits for them. */
  readonly waitsFor: readonly ResourceKey[];
}

/** The client whose changes are held. */
export interface HoldingClient {
  readonly store: ResourceStore;
  /** Those with something to send or to be acknowledged. */
  readonly pending: ReadonlySet<Subscription>;
  /** The resources that the client sees in place of those in the store. */
  readonly instead: Map<ResourceKey, Resource | undefined>;
  get(key: ResourceKey): Resource | undefined;
  flush(): void;
  /** A change is not held any more: the client sees the store's version and is sent it. */
  letGo(key: ResourceKey, seen: Resource | undefined): void;
  /** Ends the client's streams when the call fails. */
  contain(call: () => void): void;
  /** This number of resources is sent although the client has not answered their dependencies. */
  onOverdue(count: number): void;
}

export const USES_CLUSTERS: ReadonlySet<ResourceType> = new Set(['lds', 'rds', 'vhds']);

export class HeldChanges {
  readonly held = new Map<ResourceKey, Held>();
  /** Dependencies that have ended since the last review. */
  readonly settled = new Set<ResourceKey>();
  /** Routes and listeners that were sent, let go or dropped since the last review: removals may have waited for them. */
  readonly settledRoutes = new Map<ResourceKey, number | undefined>();
  readonly endpoints: AwaitedEndpoints;
  /** The held changes, by their dependencies: thousands of new routes may be held, and an answer concerns few of them. */
  readonly #waiting = new Map<ResourceKey, Set<ResourceKey>>();
  readonly #removals = new Removals();
  readonly #client: HoldingClient;
  readonly #subscriptions: SubscriptionIndex;
  readonly #time: HeldTime;

  constructor(client: HoldingClient, subscriptions: SubscriptionIndex, clock: Clock) {
    this.#client = client;
    this.#subscriptions = subscriptions;
    this.#time = new HeldTime({
      clock,
      isNeeded: () => this.held.size > 0,
      onTick: () =>
        client.contain(() => {
          this.#releaseOverdue();
          this.#review(this.held.keys());
          this.review();
        }),
      onSoon: () => client.contain(() => this.review()),
    });
    this.endpoints = new AwaitedEndpoints({
      subscriptions,
      time: this.#time,
      onSettled: (key) => this.settled.add(key),
      resend: (endpoints, clusters) => this.#resend(endpoints, clusters),
    });
  }

  /** The client has answered or asked for something. */
  heard(): void {
    this.#time.heard();
  }

  /** Holds the change back if the client cannot take it yet; false when it can be sent. */
  hold(
    {
      key,
      type,
      after,
    }: { readonly key: ResourceKey; readonly type: ResourceType; readonly after: Resource | undefined },
    {
      seen,
      requires,
      changedAt,
    }: { seen: Resource | undefined; requires: ReadonlySet<ResourceKey>; changedAt: number },
  ): boolean {
    const usesClusters = USES_CLUSTERS.has(type);
    const waitsFor = after && usesClusters ? this.#unusable(requires) : NONE;
    if (waitsFor.length > 0) {
      this.#hold(key, seen, { since: this.#time.now, isRemoval: false, requires, waitsFor });
      return true;
    }
    if (after || usesClusters || !this.#removals.hold(key, changedAt, () => this.#routesUnderWay())) return false;
    this.#hold(key, seen, { since: this.#time.now, isRemoval: true, requires, waitsFor });
    return true;
  }

  unhold(key: ResourceKey): void {
    const held = this.held.get(key);
    if (!held) return;
    this.held.delete(key);
    if (held.isRemoval) this.#removals.drop(key);
    else this.#routeSettled(key, undefined);
    for (const awaited of held.waitsFor) removeFrom(this.#waiting, awaited, key);
  }

  /** A response was accepted or refused; changes that waited for it may go out. */
  answered(
    subscription: Subscription,
    { changes, order }: { readonly changes: ReadonlyMap<string, SentChange>; readonly order: number },
    isRefused: boolean,
  ): void {
    const { type } = subscription;
    this.#time.heard();
    if (USES_CLUSTERS.has(type) && !this.#removals.isEmpty)
      for (const name of changes.keys()) this.#routeSettled(resourceKey(type, name), order);
    if (isRefused && type === 'cds') this.endpoints.clustersRefused(subscription, changes);
    if (type === 'cds' && this.#waiting.size > 0)
      for (const name of changes.keys()) this.settled.add(resourceKey(type, name));
    if (isRefused) return;
    for (const [name, { sent }] of changes) {
      if (type === 'cds') this.endpoints.clusterAcknowledged(sent?.requires ?? NONE);
      if (type === 'eds') this.endpoints.acknowledged(sent?.key ?? resourceKey(type, name), subscription, order);
    }
  }

  /** Changes of these names are not under way any more. */
  dropped({ type }: Subscription, names: Iterable<string>): void {
    if (USES_CLUSTERS.has(type)) for (const name of names) this.#routeSettled(resourceKey(type, name), undefined);
    else if (type === 'cds') for (const name of names) this.settled.add(resourceKey(type, name));
    else if (type === 'eds') for (const name of names) this.endpoints.refused(resourceKey(type, name));
    // A subscription that is sending now calls this: resources that it lets go are sent afterwards.
    if (this.settledRoutes.size + this.settled.size > 0) this.#time.soon();
  }

  /** The subscription has ended. */
  ended(subscription: Subscription): void {
    const { type } = subscription;
    if (type === 'eds') for (const name of subscription.names) this.endpoints.streamEnded(resourceKey('eds', name));
    if (USES_CLUSTERS.has(type)) this.dropped(subscription, subscription.pendingNames());
    // Unacknowledged resources of the type are not waited for any more.
    if (type === 'cds') for (const key of this.#waiting.keys()) this.settled.add(key);
  }

  /** Reviews the changes whose dependency has settled. */
  review(): void {
    const keys = new Set<ResourceKey>();
    for (const settled of this.settled) for (const key of this.#waiting.get(settled) ?? NONE) keys.add(key);
    this.settled.clear();
    this.#review(keys);
    for (const [route, order] of this.settledRoutes) {
      // A held change has not reached the client, whatever was sent meanwhile.
      if (this.held.has(route)) continue;
      const isUnderWay = this.#isUnderWay(route);
      if (isUnderWay && order === undefined) continue;
      for (const key of this.#removals.answered(route, isUnderWay ? order : undefined)) this.#letGo(key);
    }
    this.settledRoutes.clear();
    this.#client.flush();
  }

  close(): void {
    this.held.clear();
    this.#waiting.clear();
    this.#removals.clear();
    this.settledRoutes.clear();
    this.#time.stop();
  }

  #hold(key: ResourceKey, seen: Resource | undefined, held: Held): void {
    this.#client.instead.set(key, seen);
    this.held.set(key, held);
    for (const awaited of held.waitsFor) addTo(this.#waiting, awaited, key);
    this.#time.start();
  }

  #routeSettled(key: ResourceKey, order: number | undefined): void {
    if (this.#removals.awaits(key)) this.settledRoutes.set(key, order);
  }

  #resend(endpoints: ResourceKey, { stream }: Subscription): void {
    const name = endpoints.slice('eds/'.length);
    for (const other of this.#subscriptions.naming('eds', name))
      if (other.stream === stream) other.resend(name, this.#client.get(endpoints));
  }

  /** The first of these clusters that the client cannot use yet, and its endpoints if it waits for them. */
  #unusable(keys: ReadonlySet<ResourceKey>): readonly ResourceKey[] {
    for (const key of keys) {
      const cluster = this.#client.store.get(key);
      // An absent cluster cannot be waited for.
      if (!cluster) continue;
      for (const subscription of this.#subscriptions.ofType('cds'))
        if (subscription.isPending(cluster.name)) return [key];
      for (const required of cluster.requires) {
        const state = this.endpoints.check(required);
        if (state === 'awaited') return [key, required];
        if (state === 'overdue') this.#client.onOverdue(1);
      }
    }
    return NONE;
  }

  /** Routes and listeners that are held, or that the client has not answered. */
  *#routesUnderWay(): Generator<ResourceKey> {
    for (const [key, { isRemoval }] of this.held) if (!isRemoval) yield key;
    for (const subscription of this.#client.pending)
      if (USES_CLUSTERS.has(subscription.type))
        for (const name of subscription.pendingNames()) yield resourceKey(subscription.type, name);
  }

  #isUnderWay(key: ResourceKey): boolean {
    const at = key.indexOf('/');
    for (const subscription of this.#client.pending)
      if (subscription.type === key.slice(0, at) && subscription.isPending(key.slice(at + 1))) return true;
    return false;
  }

  /** Releases routes whose dependencies are in place. */
  #review(keys: Iterable<ResourceKey>): void {
    // A route that still waits is held again, behind all others.
    const reviewed = [...keys];
    for (const key of reviewed) {
      const held = this.held.get(key);
      if (!held || held.isRemoval) continue;
      const waitsFor = this.#unusable(held.requires);
      if (waitsFor.length === 0) this.#letGo(key);
      else {
        const seen = this.#client.instead.get(key);
        this.unhold(key);
        this.#hold(key, seen, { ...held, waitsFor });
      }
    }
    this.#client.flush();
  }

  #letGo(key: ResourceKey): void {
    const seen = this.#client.instead.get(key);
    this.unhold(key);
    this.#client.letGo(key, seen);
  }

  /** A client that answers nothing gets everything: routes first. */
  #releaseOverdue(): void {
    const overdue = [...this.held].filter(([, { since }]) => this.#time.isSilent(since));
    if (overdue.length === 0) return;
    this.#client.onOverdue(overdue.length);
    for (const isRemoval of [false, true]) {
      for (const [key, held] of overdue) if (held.isRemoval === isRemoval && this.held.has(key)) this.#letGo(key);
      this.#client.flush();
    }
  }
}

const NONE: readonly never[] = [];

function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set) set.add(value);
  else map.set(key, new Set([value]));
}

function removeFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set?.delete(value) === true && set.size === 0) map.delete(key);
}
