/** A set that is an array while it is small: most buckets hold one or two things, and a Set costs 200 bytes. */
export type SmallSet<T> = readonly T[] | Set<T>;

const SMALL = 8;

/** Returns the set with the item in it; use the returned set. */
export function withItem<T>(set: SmallSet<T>, item: T): SmallSet<T> {
  if (set instanceof Set) return set.add(item);
  if (set.includes(item)) return set;
  if (set.length >= SMALL) return new Set([...set, item]);
  // Not by spreading, which leaves room for sixteen more items.
  return set.length === 0 ? [item] : set.concat([item]);
}

export function withoutItem<T>(set: SmallSet<T>, item: T): SmallSet<T> {
  if (set instanceof Set) {
    set.delete(item);
    return set;
  }
  return set.includes(item) ? set.filter((other) => other !== item) : set;
}

export function sizeOf(set: SmallSet<unknown>): number {
  return set instanceof Set ? set.size : set.length;
}

export function hasItem<T>(set: SmallSet<T>, item: T): boolean {
  return set instanceof Set ? set.has(item) : set.includes(item);
}
