// The hash of an aggregator: its own part and the hashes of its children.
//
// A leaf's hash comes from the runtime's digest: `v1.<plain>`, or `v1.<plain>.<key id>.<keyed>` where Secret data took part.
// An aggregate has the same form, and combines plain parts with plain parts and keyed parts with keyed parts. So the rule for
// digests holds for the whole tree: under a new key the keyed parts cannot be compared and count as equal, and a new key
// alone rolls nothing. Children are given by name: their order does not count, and no two lists give the same bytes, because
// every item is framed by JSON.
import { plainDigest } from '@capstan/reconcile';

export interface HashedChild {
  /** Unique among the children: `KafkaService orders`. */
  readonly name: string;
  readonly hash: string;
}

/** The hash of `own` and of all children. Own values must not hold secrets. */
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

/** Whether content of Secrets took part. */
export function isKeyed(hash: string): boolean {
  return partsOf(hash).keyed !== undefined;
}

/** For messages: enough to tell two hashes apart, also where nothing but Secret data differs. */
export function reportedHash(hash: string): string {
  const { keyed } = partsOf(hash);
  return keyed === undefined ? shortHash(hash) : `${shortHash(hash)}.${keyed.slice(0, KEYED_REPORTED)}`;
}

/** For names of objects: the first digits of the plain part. */
export function shortHash(hash: string): string {
  return (hash.split('.')[1] ?? '').slice(0, SHORT);
}

const SHORT = 12;
const KEYED_REPORTED = 8;
