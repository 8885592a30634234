/**
 * Returns a negative number, zero or a positive number if `a` is older than, the same as or newer than `b`, and undefined if they cannot be
 * compared. Kubernetes promises an order only for decimal numbers of any length, and only between versions of one resource. `0` means "any
 * version", and an aggregated server may count in another way.
 */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return 0;
  if (!isComparable(a) || !isComparable(b)) return undefined;
  // Without leading zeros, the longer number is the larger one. Do not parse them: 64 bits do not fit a double.
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

/** Returns true if `a` is known to be newer than `b`, and false if the two cannot be compared. */
export function isNewerResourceVersion(a: string | undefined, b: string | undefined): boolean {
  return (compareResourceVersions(a, b) ?? 0) > 0;
}

function isComparable(version: string): boolean {
  return /^[1-9][0-9]*$/.test(version);
}
