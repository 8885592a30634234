// The pre-shared keys that a gateway knows: the one in use and, while a rotation is under way, the one before. Two ends use
// the newest that both know, so a key may be replaced on one cluster after the other.
import { scrypt } from 'node:crypto';

export interface PreSharedKey {
  /** Names the key to other gateways without revealing it: slow to compute, so that it cannot be guessed from a list. */
  readonly id: string;
  /** The raw bytes. */
  readonly bytes: Uint8Array;
}

/** Newest first; empty where there is none. */
export type PreSharedKeys = () => Promise<readonly PreSharedKey[]>;

/** Takes about a tenth of a second, on a thread of its own. */
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
 * The key for a pair: of those that both ends know the newest on both, the same on either end. The other end's ids are
 * unknown with gateways of the original: then it is the newest. Undefined when they have none in common.
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
