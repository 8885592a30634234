// The pre-shared keys of a gateway: the present one, and the previous one during a rotation. Two ends use the newest key that both have, so
// that a key can be replaced in one cluster after the other.
import { scrypt } from 'node:crypto';

export interface PreSharedKey {
  /** Identifies the key to other gateways without revealing it. It is slow to compute, so that it cannot be guessed from a list. */
  readonly id: string;
  /** The raw bytes. */
  readonly bytes: Uint8Array;
}

/** Sorted from newest to oldest. Empty if there are none. */
export type PreSharedKeys = () => Promise<readonly PreSharedKey[]>;

/** Computes the id of a key. This takes about a tenth of a second on a separate thread. */
export function preSharedKey(bytes: Uint8Array): Promise<PreSharedKey> {
  return new Promise((resolve, reject) => {
    scrypt(bytes, SALT, 8, { N: 32_768, r: 8, maxmem: 64 * 1024 * 1024 }, (error, id) => {
      if (error === null) resolve({ id: id.toString('hex'), bytes });
      else reject(error);
    });
  });
}

const SALT = 'submariner pre-shared key';

/**
 * Returns the key for a pair: the newest one that both ends have, which both ends compute alike. Gateways of the original publish no ids:
 * then it is the newest one. Returns undefined if they have none in common.
 */
export function commonKey(own: readonly PreSharedKey[], theirs: string | undefined): PreSharedKey | undefined {
  if (theirs === undefined || theirs === '') return own[0];
  const others = theirs.split(',');
  const common = own.flatMap((key, index) => {
    const there = others.indexOf(key.id);
    return there < 0 ? [] : [{ key, rank: index + there }];
  });
  return common.toSorted((a, b) => a.rank - b.rank || (a.key.id < b.key.id ? -1 : 1))[0]?.key;
}
