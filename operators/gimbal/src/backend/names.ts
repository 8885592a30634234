// The name of a backend is the name of its cluster everywhere: in labels, in the names of discovered objects, in metrics. So it is unique
// over all namespaces and all kinds under which a backend can be written.

/** Upstream's rule for the name of a backend. */
const NAME = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const MAX_NAME = 63;
/** Longer names shorten the names of OpenStack's load balancers: their ids no longer fit beside them. */
const ROOMY_NAME = 25;

/** Returns the problem of a backend's name, or undefined. */
export function nameFault(name: string): string | undefined {
  if (name.length > MAX_NAME) return `the name has ${name.length} characters, and ${MAX_NAME} is the most`;
  if (NAME.test(name)) return undefined;
  return `"${name}" is no name for a backend: lowercase letters, digits and hyphens, beginning with a letter and not ending with a hyphen`;
}

/** Returns a warning about a name that is allowed, or undefined. */
export function nameWarning(name: string): string | undefined {
  return name.length > ROOMY_NAME
    ? `the name has more than ${ROOMY_NAME} characters: ids of load balancers are shortened in the names of what is discovered`
    : undefined;
}

/** Who claims a name. */
export interface Claim {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
}

/** Who has the name among all that claim it: the oldest, and of several of one second the one with the lowest uid. */
export function winnerOf<C extends Claim>(claims: readonly C[]): C | undefined {
  return claims.reduce<C | undefined>(
    (best, claim) => (best === undefined || isBefore(claim, best) ? claim : best),
    undefined,
  );
}

function isBefore(left: Claim, right: Claim): boolean {
  if (left.creationTimestamp !== right.creationTimestamp) return left.creationTimestamp < right.creationTimestamp;
  return left.uid < right.uid;
}

/** A claim as messages show it. */
export function describeClaim({ kind, namespace, name }: Claim): string {
  return `${kind} ${namespace}/${name}`;
}

/** Other names with which this one may give the same name to two services: `a` with `b-c`, `a-b` with `c`. */
export function overlapsOf(name: string, others: readonly string[]): string[] {
  return [...new Set(others)]
    .filter((other) => other !== name && (other.startsWith(`${name}-`) || name.startsWith(`${other}-`)))
    .toSorted();
}
