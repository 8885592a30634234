// Computes the hash of an aggregator from its own part and the hashes of its children.
//
// The runtime's digest computes the hash of a leaf: `v1.<plain>`, or `v1.<plain>.<key id>.<keyed>` if it covers Secret data. An aggregate
// has the same form. It combines plain parts with plain parts and keyed parts with keyed parts, so the rule for digests holds for the whole
// tree: keyed parts under different keys cannot be compared and count as equal, and a new key alone does not roll pods. Children have
// names, so their order does not matter. JSON frames every item, so two different lists never give the same bytes.
import { plainDigest } from '@capstan/reconcile';

export interface HashedChild {
  /** Unique among the children: `KafkaService orders`. */
  readonly name: string;
  readonly hash: string;
}

/** Returns the hash of `own` and of all children. `own` must not contain secrets. */
export function combineHashes(own: unknown, children: readonly HashedChild[]): string {
  const parts = children
    .map(({ name, hash }) => ({ name, ...partsOf(hash) }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const [version, plain] = plainDigest(
    own,
    parts.map((part) => [part.name, part.version, part.plain]),
  ).split('.');
  const keyed = parts.filter((part) => part.keyId !== undefined);
  if (keyed.length === 0) return `${version}.${plain}`;
  const ids = [...new Set(keyed.map((part) => part.keyId))];
  const [, combined] = plainDigest(keyed.map((part) => [part.name, part.keyed])).split('.');
  return `${version}.${plain}.${ids.join('-')}.${combined}`;
}

interface Parts {
  readonly version: string | undefined;
  readonly plain: string | undefined;
  readonly keyId: string | undefined;
  readonly keyed: string | undefined;
}

function partsOf(hash: string): Parts {
  const [version, plain, keyId, keyed] = hash.split('.');
  return { version, plain, keyId, keyed };
}

/** Returns whether the hash covers content of Secrets. */
export function isKeyed(hash: string): boolean {
  return partsOf(hash).keyed !== undefined;
}

/** Returns a short hash for messages. It tells two hashes apart even if only Secret data differs. */
export function reportedHash(hash: string): string {
  const { keyed } = partsOf(hash);
  return keyed === undefined ? shortHash(hash) : `${shortHash(hash)}.${keyed.slice(0, KEYED_REPORTED)}`;
}

/** Returns the first digits of the plain part, for names of objects. */
export function shortHash(hash: string): string {
  return (hash.split('.')[1] ?? '').slice(0, SHORT);
}

const SHORT = 12;
const KEYED_REPORTED = 8;
