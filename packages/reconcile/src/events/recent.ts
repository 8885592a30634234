/** A map that keeps the entries used last, and hands over the one that has to go. */
export interface Recent<K, V> {
  /** Looking at an entry counts as use. */
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  /** Removes the entry if it still has this value. */
  delete(key: K, value: V): void;
  entries(): [K, V][];
}

export function createRecent<K, V>(limit: number, onEvict: (value: V) => void = () => {}): Recent<K, V> {
  // A Map iterates in the order of insertion: the first entry is the one not used for longest.
  const map = new Map<K, V>();
  return {
    get(key) {
      const value = map.get(key);
      if (value === undefined) return undefined;
      map.delete(key);
      map.set(key, value);
      return value;
    },
    set(key, value) {
      map.delete(key);
      map.set(key, value);
      if (map.size <= limit) return;
      for (const [oldest, evicted] of map) {
        map.delete(oldest);
        onEvict(evicted);
        return;
      }
    },
    delete(key, value) {
      if (map.get(key) === value) map.delete(key);
    },
    entries: () => [...map],
  };
}
