/** A set that is an array while it is small: most buckets hold one or two things, and a Set costs 200 bytes. */
export type SmallSet<T> = readonly T[] | Set<T>;

const SMALL = 8;

/** The set with the item in it; use what is returned. */
export function withItem<T>(set: SmallSet<T>, item: T): SmallSet<T> {
  if (set instanceof Set) return set.add(item);
  if (set.includes(item)) return set;
  return set.length < SMALL ? [...set, item] : new Set([...set, item]);
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
