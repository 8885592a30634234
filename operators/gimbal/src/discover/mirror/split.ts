// Many endpoints into slices of at most 1000. Which slice an endpoint is in follows from its own address alone (the leading
// bits of a hash, as many as are needed until no slice is too large), so that a changed endpoint changes one slice, and
// neither the order in which endpoints come nor a restart moves any. Only when a slice overflows it becomes two.

export interface Part<T> {
  /** The bits that its members have in common; empty when there is only one part. */
  readonly bits: string;
  readonly members: readonly T[];
}

/** The parts in the order of their bits, none empty; one empty part when there are no members at all. */
export function split<T>(members: readonly T[], keyOf: (member: T) => string, max = MAX_IN_SLICE): Part<T>[] {
  const hashed = members.map((member) => ({ member, hash: hashOf(keyOf(member)) }));
  const parts: Part<T>[] = [];
  const divide = (some: typeof hashed, bits: string) => {
    // 32 bits are enough for every set whose keys differ; members with one key cannot be distinguished, and stay together.
    if (some.length <= max || bits.length === 32) {
      if (some.length > 0 || bits === '') parts.push({ bits, members: some.map(({ member }) => member) });
      return;
    }
    const shift = 31 - bits.length;
    const isSet = ({ hash }: { hash: number }) => ((hash >>> shift) & 1) === 1;
    divide(
      some.filter((each) => !isSet(each)),
      `${bits}0`,
    );
    divide(some.filter(isSet), `${bits}1`);
  };
  divide(hashed, '');
  return parts;
}

/** The API server accepts at most this number. */
export const MAX_IN_SLICE = 1000;

/** FNV-1a with a final mix, so that neighbouring addresses spread over all bits. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
