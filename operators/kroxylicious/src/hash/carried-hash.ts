// The hash on a pod template over changes of the digest key. Under a new key the keyed part of every hash is another, which
// must roll nothing; and the next change of a Secret must roll all the same. So two things are remembered: what the template
// shows, and which hash, under the present key, that stands for.
import { sameDigest } from '@capstan/reconcile';

export interface CarriedHash {
  /** On the pod template. */
  readonly shown: string;
  /** The latest hash that says the same. */
  readonly is: string;
}

/**
 * What to show for the next hash; `live` is what the template shows while nothing is remembered. `isDoubtful` says of a hash
 * under a new key that a Secret was written while the key was lost: then what runs may be something else.
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
