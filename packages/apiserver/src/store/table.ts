import type { UnknownObject } from '@capstan/kube';

/**
 * The objects of one resource by key, listed in key order. New keys wait unsorted until a user lists, because
 * controllers write far more often than they list.
 */
export interface Table {
  get(key: string): UnknownObject | undefined;
  set(key: string, object: UnknownObject): void;
  delete(key: string): void;
  readonly size: number;
  /** The keys that begin with the prefix, in order. */
  keys(prefix: string): readonly string[];
}

export function createTable(): Table {
  const objects = new Map<string, UnknownObject>();
  let sorted: string[] = [];
  let added: string[] = [];
  let removed = 0;

  const settle = () => {
    if (added.length === 0 && removed === 0) return;
    const fresh = added.sort(compareKeys);
    const kept = removed === 0 ? sorted : sorted.filter((key) => objects.has(key));
    sorted = merge(kept, fresh, objects);
    added = [];
    removed = 0;
  };

  return {
    get: (key) => objects.get(key),
    set(key, object) {
      if (!objects.has(key)) added.push(key);
      objects.set(key, object);
    },
    delete(key) {
      if (objects.delete(key)) removed += 1;
    },
    get size() {
      return objects.size;
    },
    keys(prefix) {
      settle();
      if (prefix === '') return sorted;
      const from = lowerBound(sorted, prefix);
      return sorted.slice(from, lowerBound(sorted, `${prefix}\uffff`));
    },
  };
}

export function compareKeys(a: string, b: string): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

/** The index of the first key that is not before the wanted one. */
export function lowerBound(keys: readonly string[], wanted: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A key that was removed and created again between two listings is in both lists; a key created and removed is in none.
function merge(kept: readonly string[], fresh: readonly string[], objects: ReadonlyMap<string, unknown>): string[] {
  const result: string[] = [];
  let left = 0;
  let right = 0;
  while (left < kept.length || right < fresh.length) {
    const a = kept[left];
    const b = fresh[right];
    const next = b === undefined || (a !== undefined && a <= b) ? a : b;
    if (next === undefined) break;
    if (a === next) left += 1;
    while (fresh[right] === next) right += 1;
    if (objects.has(next)) result.push(next);
  }
  return result;
}
