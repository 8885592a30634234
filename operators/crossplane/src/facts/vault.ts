// What facts need and their keys must not say: log-in data and public keys out of Secrets. A reconciler reads the Secrets
// (so that a mended one is noticed at once), puts their content here under a keyed digest, and names the digest in the key
// of the fact. The content of an entry follows from its name, so the order of runs makes no difference.

export interface Vault<V> {
  /** Keeps a value under its digest. */
  put(id: string, value: V): void;
  get(id: string): V | undefined;
}

/** Far more than a cluster has different sets of pull secrets; the least recently used go first. */
const LARGEST = 1000;

export function createVault<V>(largest = LARGEST): Vault<V> {
  const entries = new Map<string, V>();
  return {
    put(id, value) {
      entries.delete(id);
      entries.set(id, value);
      const [oldest] = entries.keys();
      if (entries.size > largest && oldest !== undefined) entries.delete(oldest);
    },
    get: (id) => entries.get(id),
  };
}
