// One client (an Envoy) with all its streams: what it has acknowledged, what it has refused, and what is held back from it so
// that nothing is used before what it needs is in place, and nothing is removed while it is still in use.
import type { Clock, Timer } from '@capstan/kube';
import { RESOURCE_TYPES, type ResourceType } from '../envoy/index.ts';
import { type Resource, type ResourceKey, resourceKey } from './resource.ts';
import type { ResourceChange, ResourceStore } from './resource-store.ts';
import type { Subscription } from './subscription.ts';

export interface Rejection {
  readonly key: ResourceKey;
  readonly version: string;
  /** What the client said. */
  readonly message: string;
  readonly origins: readonly string[];
}

export interface NodeReport {
  readonly node: string;
  readonly streams: number;
  /** Of each type, what the client has accepted last. */
  readonly acknowledged: Readonly<Partial<Record<ResourceType, string>>>;
  readonly rejections: readonly Rejection[];
}

/** Changes wait for one another at most this long. */
const HOLD_MS = 2_000;
const USES_CLUSTERS: ReadonlySet<ResourceType> = new Set(['lds', 'rds', 'vhds']);

export class XdsNode {
  readonly id: string;
  /** Those with something to send or to be acknowledged. */
  readonly pending = new Set<Subscription>();
  readonly rejections = new Map<ResourceKey, Rejection>();
  readonly store: ResourceStore;
  readonly #clock: Clock;
  readonly #onReport: (report: NodeReport) => void;
  /** What this client sees in the place of what the store has: the last value, while a change is held or after a refusal. */
  readonly #instead = new Map<ResourceKey, Resource | undefined>();
  readonly #held = new Map<ResourceKey, { until: number; isRemoval: boolean }>();
  /** Endpoints of clusters that are new to the client and that it has not acknowledged: the clusters are not usable yet. */
  readonly #awaitedEndpoints = new Map<ResourceKey, number>();
  readonly #acknowledged: Partial<Record<ResourceType, string>> = {};
  readonly #byType = new Map<ResourceType, Set<Subscription>>();
  /** Subscriptions by the resources that they name, so that a change reaches one of thousands of streams directly. */
  readonly #byName = new Map<ResourceKey, Set<Subscription>>();
  readonly #streams = new Map<object, number>();
  #timer: Timer | undefined;

  constructor(id: string, store: ResourceStore, clock: Clock, onReport: (report: NodeReport) => void) {
    this.id = id;
    this.store = store;
    this.#clock = clock;
    this.#onReport = onReport;
  }

  get isIdle(): boolean {
    return this.#streams.size === 0;
  }

  add(subscription: Subscription): void {
    addTo(this.#byType, subscription.type, subscription);
    this.#streams.set(subscription.stream, (this.#streams.get(subscription.stream) ?? 0) + 1);
  }

  remove(subscription: Subscription): void {
    removeFrom(this.#byType, subscription.type, subscription);
    for (const name of subscription.names) this.unname(subscription, name);
    this.pending.delete(subscription);
    const left = (this.#streams.get(subscription.stream) ?? 1) - 1;
    if (left > 0) this.#streams.set(subscription.stream, left);
    else this.#streams.delete(subscription.stream);
  }

  name(subscription: Subscription, name: string): void {
    addTo(this.#byName, resourceKey(subscription.type, name), subscription);
  }

  unname(subscription: Subscription, name: string): void {
    removeFrom(this.#byName, resourceKey(subscription.type, name), subscription);
  }

  /** The resource as this client should see it now. */
  get(key: ResourceKey): Resource | undefined {
    return this.#instead.has(key) ? this.#instead.get(key) : this.store.get(key);
  }

  /** Whether the client sees exactly what the store has of the type. */
  isLikeStore(type: ResourceType): boolean {
    for (const key of this.#instead.keys()) if (key.startsWith(`${type}/`)) return false;
    return true;
  }

  *ofType(type: ResourceType): Generator<Resource> {
    const prefix = `${type}/`;
    for (const resource of this.store.ofType(type).values()) {
      const seen = this.get(resource.key);
      if (seen) yield seen;
    }
    for (const [key, resource] of this.#instead)
      if (key.startsWith(prefix) && resource && !this.store.get(key)) yield resource;
  }

  changed(changes: readonly ResourceChange[]): void {
    const isGated = this.#byType.has('cds');
    // Full responses are composed of what the client sees: until it is decided about, what goes is still there.
    for (const { key, before, after } of changes)
      if (isGated && !after && before && !USES_CLUSTERS.has(before.type) && !this.#instead.has(key))
        this.#instead.set(key, before);
    // What goes is looked at last: by then it is known whether routes that used it are still under way.
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
    this.#review();
    this.flush();
  }

  /** A response was accepted or refused; what waited for it may go out. */
  answered(type: ResourceType, names: Iterable<string>, version: string, refused?: { message: string }): void {
    if (refused === undefined) {
      this.#acknowledged[type] = version;
      for (const name of names) {
        this.rejections.delete(resourceKey(type, name));
        if (type === 'eds') this.#awaitedEndpoints.delete(resourceKey(type, name));
      }
    }
    this.report();
    this.#review();
    this.flush();
  }

  refuse(rejection: Rejection, lastAccepted: Resource | undefined): void {
    this.rejections.set(rejection.key, rejection);
    // What the client accepted last stays in force, in full responses too.
    if (lastAccepted) this.#instead.set(rejection.key, lastAccepted);
  }

  /** Sends what may be sent, in the order in which resources refer to one another. */
  flush(): void {
    if (this.pending.size === 0) return;
    const ready = [...this.pending];
    if (ready.length > 1) ready.sort((left, right) => orderOf(left.type) - orderOf(right.type));
    for (const subscription of ready) subscription.flush();
  }

  report(): void {
    this.#onReport({
      node: this.id,
      streams: this.#streams.size,
      acknowledged: { ...this.#acknowledged },
      rejections: [...this.rejections.values()],
    });
  }

  close(): void {
    this.#timer?.cancel();
  }

  #change({ key, before, after }: ResourceChange, type: ResourceType, isGated: boolean): void {
    const seen = this.#instead.has(key) ? this.#instead.get(key) : before;
    this.#instead.delete(key);
    this.#held.delete(key);
    if (isGated && after && USES_CLUSTERS.has(type) && !this.#areUsable(after.requires)) {
      this.#hold(key, seen, false);
      return;
    }
    if (isGated && !after && !USES_CLUSTERS.has(type) && this.#routesArePending()) {
      this.#hold(key, seen, true);
      return;
    }
    if (type === 'cds' && after && !before) {
      for (const required of after.requires) this.#awaitedEndpoints.set(required, this.#clock.now() + HOLD_MS);
    }
    this.#mark(key, type, after?.name ?? before?.name ?? '', seen);
  }

  #hold(key: ResourceKey, seen: Resource | undefined, isRemoval: boolean): void {
    this.#instead.set(key, seen);
    this.#held.set(key, { until: this.#clock.now() + HOLD_MS, isRemoval });
    this.#timer ??= this.#clock.after(HOLD_MS, () => {
      this.#timer = undefined;
      this.#review();
      this.flush();
    });
  }

  #mark(key: ResourceKey, type: ResourceType, name: string, seen: Resource | undefined): void {
    for (const subscription of this.#byName.get(key) ?? []) subscription.mark(name, seen);
    // A subscription to virtual hosts names the route configuration that they belong to.
    const all = type === 'vhds' ? resourceKey(type, name.slice(0, name.lastIndexOf('/'))) : undefined;
    if (all !== undefined) for (const subscription of this.#byName.get(all) ?? []) subscription.mark(name, seen);
    for (const subscription of this.#byName.get(resourceKey(type, '*')) ?? []) subscription.mark(name, seen);
  }

  #areUsable(keys: readonly ResourceKey[]): boolean {
    return keys.every((key) => {
      const cluster = this.store.get(key);
      // What does not exist cannot be waited for.
      if (!cluster) return true;
      for (const subscription of this.#byType.get('cds') ?? []) if (subscription.isPending(cluster.name)) return false;
      return !cluster.requires.some((required) => (this.#awaitedEndpoints.get(required) ?? 0) > this.#clock.now());
    });
  }

  #routesArePending(): boolean {
    for (const { isRemoval } of this.#held.values()) if (!isRemoval) return true;
    for (const { type } of this.pending) if (USES_CLUSTERS.has(type)) return true;
    return false;
  }

  #review(): void {
    const now = this.#clock.now();
    for (const isRemoval of [false, true]) {
      for (const [key, held] of this.#held) {
        if (held.isRemoval !== isRemoval) continue;
        const mayGo = isRemoval ? !this.#routesArePending() : this.#areUsable(this.store.get(key)?.requires ?? []);
        if (!mayGo && held.until > now) continue;
        const seen = this.#instead.get(key);
        this.#held.delete(key);
        this.#instead.delete(key);
        const at = key.indexOf('/');
        this.#mark(key, key.slice(0, at) as ResourceType, key.slice(at + 1), seen);
      }
      // Routes go first, so that the removals that follow see them as pending.
      if (!isRemoval) this.flush();
    }
    if (this.#held.size > 0 && !this.#timer) {
      const next = Math.min(...[...this.#held.values()].map(({ until }) => until));
      this.#timer = this.#clock.after(Math.max(next - now, 1), () => {
        this.#timer = undefined;
        this.#review();
        this.flush();
      });
    }
  }
}

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
