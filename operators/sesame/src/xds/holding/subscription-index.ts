// The subscriptions of one client: by type, by the resources that they name, and by stream. And their names: a thousand Envoys ask for the
// same ones. Each name is kept once, and a subscription with many of them has a bit for each. Thousands of streams of one Envoy ask for
// one name each: they have no bits.
import { interned } from '@capstan/kube';
import type { ResourceType } from '../../envoy/index.ts';
import type { Subscription, SubscriptionStream } from '../subscription.ts';

/** Nearly every name has one subscription, which then is in no set: a change reaches one of thousands of streams directly. */
type ByName = Map<string, Subscription | Set<Subscription>>;

/** With more subscriptions to a type they are found by name: a client on the aggregated stream has one, with thousands of names. */
const SEARCHED = 8;

export class SubscriptionIndex {
  readonly #byType = new Map<ResourceType, Set<Subscription>>();
  /** Kept for types with many subscriptions. */
  readonly #byName = new Map<ResourceType, ByName>();
  /** How many subscriptions each stream has. */
  readonly #streams = new Map<SubscriptionStream, number>();

  get streams(): ReadonlyMap<SubscriptionStream, number> {
    return this.#streams;
  }

  add(subscription: Subscription): void {
    const { type, stream } = subscription;
    const known = this.#byType.get(type) ?? new Set<Subscription>();
    this.#byType.set(type, known.add(subscription));
    this.#streams.set(stream, (this.#streams.get(stream) ?? 0) + 1);
    if (known.size <= SEARCHED || this.#byName.has(type)) return;
    const byName: ByName = new Map();
    this.#byName.set(type, byName);
    for (const each of known) for (const name of each.names) addTo(byName, name, each);
  }

  /** Its names go with `unname`. */
  remove(subscription: Subscription): void {
    const { type, stream } = subscription;
    const known = this.#byType.get(type);
    if (known?.delete(subscription) === true && known.size === 0) {
      this.#byType.delete(type);
      this.#byName.delete(type);
    }
    const left = (this.#streams.get(stream) ?? 1) - 1;
    if (left > 0) this.#streams.set(stream, left);
    else this.#streams.delete(stream);
  }

  name(subscription: Subscription, name: string): void {
    const byName = this.#byName.get(subscription.type);
    if (byName) addTo(byName, name, subscription);
  }

  unname(subscription: Subscription, name: string): void {
    const byName = this.#byName.get(subscription.type);
    const known = byName?.get(name);
    if (known === subscription) byName?.delete(name);
    else if (known instanceof Set && known.delete(subscription) && known.size === 0) byName?.delete(name);
  }

  has(type: ResourceType): boolean {
    return this.#byType.has(type);
  }

  ofType(type: ResourceType): Iterable<Subscription> {
    return this.#byType.get(type) ?? NONE;
  }

  naming(type: ResourceType, name: string): Iterable<Subscription> {
    const byName = this.#byName.get(type);
    if (byName) {
      const known = byName.get(name);
      return known instanceof Set ? known : known ? [known] : NONE;
    }
    const known = this.#byType.get(type);
    if (!known) return NONE;
    let found: Subscription[] | undefined;
    for (const subscription of known) if (subscription.names.has(name)) (found ??= []).push(subscription);
    return found ?? NONE;
  }
}

function addTo(byName: ByName, name: string, subscription: Subscription): void {
  const known = byName.get(name);
  if (known instanceof Set) known.add(subscription);
  else byName.set(name, known && known !== subscription ? new Set([known, subscription]) : subscription);
}

const NONE: readonly never[] = [];

/** The names of one type that any client asks for, with a number for each. */
export class NameTable {
  readonly #numbers = new Map<string, number>();
  readonly #names: (string | undefined)[] = [];
  /** The number of sets that have the name; a name without any is forgotten. */
  readonly #users: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#numbers.size;
  }

  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  nameOf(number: number): string {
    return this.#names[number] ?? '';
  }

  take(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#free.pop() ?? this.#names.length;
      const kept = interned(name);
      this.#numbers.set(kept, number);
      this.#names[number] = kept;
      this.#users[number] = 0;
    }
    this.#users[number] = (this.#users[number] ?? 0) + 1;
    return number;
  }

  release(number: number): void {
    const users = (this.#users[number] ?? 1) - 1;
    this.#users[number] = users;
    if (users > 0) return;
    this.#numbers.delete(this.nameOf(number));
    this.#names[number] = undefined;
    this.#free.push(number);
  }
}

/** Up to this number of names, a set has them itself. */
const FEW = 8;

export class NameSet implements Iterable<string> {
  readonly #table: NameTable;
  #few: string[] | undefined = [];
  #bits: Uint32Array | undefined;
  #size = 0;

  constructor(table: NameTable) {
    this.#table = table;
  }

  get size(): number {
    return this.#size;
  }

  has(name: string): boolean {
    if (this.#few) return this.#few.includes(name);
    const number = this.#table.numberOf(name);
    return number !== undefined && this.#isSet(number);
  }

  /** False when it was there already. */
  add(name: string): boolean {
    if (this.has(name)) return false;
    this.#size += 1;
    if (this.#few && this.#few.length < FEW) this.#few.push(interned(name));
    else {
      const earlier = this.#few ?? [];
      this.#few = undefined;
      for (const each of earlier) this.#set(this.#table.take(each));
      this.#set(this.#table.take(name));
    }
    return true;
  }

  /** False when it was not there. */
  delete(name: string): boolean {
    if (!this.has(name)) return false;
    this.#size -= 1;
    if (this.#few) this.#few = this.#few.filter((each) => each !== name);
    else {
      const number = this.#table.numberOf(name) ?? 0;
      const bits = this.#bits ?? NO_BITS;
      bits[number >>> 5] = (bits[number >>> 5] ?? 0) & ~(1 << (number & 31));
      this.#table.release(number);
    }
    return true;
  }

  /** A set that is not used any more must be cleared: the table counts its names. */
  clear(): void {
    for (const number of this.#numbers()) this.#table.release(number);
    this.#few = [];
    this.#bits = undefined;
    this.#size = 0;
  }

  /** The present name may be deleted meanwhile. */
  *[Symbol.iterator](): Generator<string> {
    if (this.#few) yield* this.#few;
    else for (const number of this.#numbers()) yield this.#table.nameOf(number);
  }

  *#numbers(): Generator<number> {
    const bits = this.#bits ?? NO_BITS;
    for (let at = 0; at < bits.length; at += 1)
      for (let word = bits[at] ?? 0; word !== 0; word &= word - 1) yield at * 32 + 31 - Math.clz32(word & -word);
  }

  #isSet(number: number): boolean {
    return (((this.#bits ?? NO_BITS)[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  }

  #set(number: number): void {
    const at = number >>> 5;
    let bits = this.#bits ?? NO_BITS;
    if (at >= bits.length) {
      const larger = new Uint32Array(Math.max(at + 1, bits.length + (bits.length >> 1)));
      larger.set(bits);
      bits = larger;
      this.#bits = larger;
    }
    bits[at] = (bits[at] ?? 0) | (1 << (number & 31));
  }
}

const NO_BITS = new Uint32Array(0);
