/** The number of uids without a policy that a broker keeps. */
const MOST_ABSENT = 500;

/** A policy of the broker, and the uid of the object that it replaces after a restore. */
export interface RecordedPolicy {
  readonly uid: string;
  readonly replaces: string | undefined;
}

/**
 * Adds the policies that a broker has to the uids that it has recorded, oldest first. Uids of deleted policies stay, so that
 * members which were away can distinguish a deletion from a restored broker. Only the last 500 of them are kept.
 */
export function recordPolicies(record: readonly string[], policies: readonly RecordedPolicy[]): string[] {
  const present = new Set(policies.flatMap(({ uid, replaces }) => (replaces === undefined ? [uid] : [replaces, uid])));
  const all = [...new Set([...record, ...[...present].toSorted()])];
  const absent = all.filter((uid) => !present.has(uid));
  const dropped = new Set(absent.slice(0, Math.max(0, absent.length - MOST_ABSENT)));
  return all.filter((uid) => !dropped.has(uid));
}
