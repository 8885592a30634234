export interface Hashed {
  readonly id: string;
  readonly hash: string;
}

/** Returns the new hash of each node whose hash differs, new nodes included. */
export function hashChanges(before: readonly Hashed[], after: readonly Hashed[]): ReadonlyMap<string, string> {
  const known = new Map(before.map(({ id, hash }) => [id, hash]));
  return new Map(after.filter(({ id, hash }) => known.get(id) !== hash).map(({ id, hash }) => [id, hash]));
}
