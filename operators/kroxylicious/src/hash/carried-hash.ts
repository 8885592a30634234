// Carries the hash on a pod template over a change of the digest key. A new key changes the keyed part of every hash, and this alone must
// not roll pods. The next change of a Secret must roll them all the same. So the operator remembers two hashes: the one on the template,
// and the equivalent one under the present key.
import { sameDigest } from '@capstan/reconcile';

export interface CarriedHash {
  /** The hash on the pod template. */
  readonly shown: string;
  /** The latest hash that stands for the same content as `shown`. */
  readonly is: string;
}

/**
 * Returns the hash to show for `next`. `live` is the hash on the template, used if nothing is remembered. `isDoubtful` tells for a hash
 * under a new key whether a Secret was written while the key was lost, so that the pods may run with other content.
 */
export function carryHash(
  known: CarriedHash | undefined,
  live: string | undefined,
  next: string,
  isDoubtful = false,
): CarriedHash {
  const before = known ?? (live === undefined ? undefined : { shown: live, is: live });
  return before !== undefined && sameDigest(before.is, next) && !(isDoubtful && before.is !== next)
    ? { shown: before.shown, is: next }
    : { shown: next, is: next };
}
