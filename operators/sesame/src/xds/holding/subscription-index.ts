// The subscriptions of one client: by type, by the resources that they name, and by stream.
import type { ResourceType } from '../../envoy/index.ts';
import { type ResourceKey, resourceKey } from '../resource.ts';
import type { Subscription, SubscriptionStream } from '../subscription.ts';

export class SubscriptionIndex {
  readonly #byType = new Map<ResourceType, Set<Subscription>>();
  /** Nearly every name has one subscription, which then is in no set: a change reaches one of thousands of streams directly. */
  readonly #byName = new Map<ResourceKey, Subscription | Set<Subscription>>();
  /** How many subscriptions each stream has. */
  readonly #streams = new Map<SubscriptionStream, number>();

  get streams(): ReadonlyMap<SubscriptionStream, number> {
    return this.#streams;
  }

  add(subscription: Subscription): void {
    const known = this.#byType.get(subscription.type);
    if (known) known.add(subscription);
    else this.#byType.set(subscription.type, new Set([subscription]));
    this.#streams.set(subscription.stream, (this.#streams.get(subscription.stream) ?? 0) + 1);
  }

  /** Its names go with `unname`. */
  remove(subscription: Subscription): void {
    const known = this.#byType.get(subscription.type);
    if (known?.delete(subscription) === true && known.size === 0) this.#byType.delete(subscription.type);
    const left = (this.#streams.get(subscription.stream) ?? 1) - 1;
    if (left > 0) this.#streams.set(subscription.stream, left);
    else this.#streams.delete(subscription.stream);
  }

  name(subscription: Subscription, name: string): void {
    const key = resourceKey(subscription.type, name);
    const known = this.#byName.get(key);
    if (known instanceof Set) known.add(subscription);
    else this.#byName.set(key, known && known !== subscription ? new Set([known, subscription]) : subscription);
  }

  unname(subscription: Subscription, name: string): void {
    const key = resourceKey(subscription.type, name);
    const known = this.#byName.get(key);
    if (known === subscription) this.#byName.delete(key);
    else if (known instanceof Set && known.delete(subscription) && known.size === 0) this.#byName.delete(key);
  }

  has(type: ResourceType): boolean {
    return this.#byType.has(type);
  }

  ofType(type: ResourceType): Iterable<Subscription> {
    return this.#byType.get(type) ?? NONE;
  }

  naming(key: ResourceKey): Iterable<Subscription> {
    const known = this.#byName.get(key);
    return known instanceof Set ? known : known ? [known] : NONE;
  }
}

const NONE: readonly never[] = [];
