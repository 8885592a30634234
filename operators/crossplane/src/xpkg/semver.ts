// Versions and constraints in the grammar that Crossplane's packages are written in (Masterminds' for Go), which differs
// from npm's: commas and blanks both mean "and", `||` means "or", `!=` exists, a partial version is a range (`1.2` is
// `1.2.x`), and `v` may stand before any version.
//
// A prerelease version satisfies a group of comparisons only if some comparison of that group names a prerelease itself
// (`>=1.2-0`): a constraint on releases gets releases only.

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Without its dash; empty for a release. Build metadata is dropped: it never counts. */
  readonly prerelease: string;
  readonly original: string;
}

export interface Constraint {
  readonly text: string;
  /** One of them must hold, all comparisons of it. */
  readonly groups: readonly Group[];
}

interface Group {
  readonly comparisons: readonly Comparison[];
  readonly namesPrerelease: boolean;
}

interface Comparison {
  readonly operator: Operator;
  readonly version: Version;
  /** How many of major, minor and patch were given as numbers. */
  readonly given: 0 | 1 | 2 | 3;
}

type Operator = '=' | '!=' | '>' | '<' | '>=' | '<=' | '~' | '^';

/** A version, whole or partial (`v1`, `1.2`), or undefined when the text is none. */
export function parseVersion(text: string): Version | undefined {
  const [whole, major = '0', minor = '0', patch = '0', prerelease = ''] = VERSION.exec(text) ?? [];
  if (whole === undefined) return undefined;
  // A numeric part of a prerelease has no leading zero (SemVer 2.0.0, item 9).
  if (prerelease.split('.').some((part) => /^0\d+$/.test(part))) return undefined;
  const numbers = [major, minor, patch].map(Number);
  if (numbers.some((number) => !Number.isSafeInteger(number))) return undefined;
  const [a = 0, b = 0, c = 0] = numbers;
  return { major: a, minor: b, patch: c, prerelease, original: text };
}

/** Negative, zero or positive, by SemVer's precedence. */
export function compareVersions(left: Version, right: Version): number {
  return (
    left.major - right.major ||
    left.minor - right.minor ||
    left.patch - right.patch ||
    comparePrereleases(left.prerelease, right.prerelease)
  );
}

/** A constraint, or undefined when the text is none. */
export function parseConstraint(text: string): Constraint | undefined {
  if (text.length > MAX_CONSTRAINT) return undefined;
  const groups = text.split('||').map(parseGroup);
  return groups.some((group) => group === undefined) ? undefined : { text, groups: groups as Group[] };
}

/** Whether the version is within the constraint. */
export function satisfies(version: Version, { groups }: Constraint): boolean {
  return groups.some(
    ({ comparisons, namesPrerelease }) =>
      (version.prerelease === '' || namesPrerelease) && comparisons.every((comparison) => holds(version, comparison)),
  );
}

/** The highest of the tags that are versions within the constraint; the first of equals. */
export function highestSatisfying(tags: Iterable<string>, constraint: Constraint): string | undefined {
  let best: Version | undefined;
  for (const tag of tags) {
    const version = parseVersion(tag);
    if (version === undefined || !satisfies(version, constraint)) continue;
    if (best === undefined || compareVersions(version, best) > 0) best = version;
  }
  return best?.original;
}

/** The lowest of the tags that are versions within the constraint; the first of equals. */
export function lowestSatisfying(tags: Iterable<string>, constraint: Constraint): string | undefined {
  let best: Version | undefined;
  for (const tag of tags) {
    const version = parseVersion(tag);
    if (version === undefined || !satisfies(version, constraint)) continue;
    if (best === undefined || compareVersions(version, best) < 0) best = version;
  }
  return best?.original;
}

// Nothing needs more; it keeps the time of matching small whatever comes in.
const MAX_CONSTRAINT = 2000;
const TAIL = String.raw`(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`;
const VERSION = new RegExp(String.raw`^v?(\d{1,20})(?:\.(\d{1,20}))?(?:\.(\d{1,20}))?${TAIL}$`);
const PARTIAL = String.raw`v?(\d{1,20}|[xX*])(?:\.(\d{1,20}|[xX*]))?(?:\.(\d{1,20}|[xX*]))?${TAIL}`;
const COMPARISON = new RegExp(String.raw`(!=|=>|>=|=<|<=|~>|[=><~^]?)\s*${PARTIAL}`, 'y');
const HYPHENATED = new RegExp(String.raw`${PARTIAL}\s+-\s+${PARTIAL}`, 'y');

const SPELLINGS: Readonly<Record<string, Operator>> = {
  '': '=',
  '=': '=',
  '!=': '!=',
  '>': '>',
  '<': '<',
  '>=': '>=',
  '=>': '>=',
  '<=': '<=',
  '=<': '<=',
  '~': '~',
  '~>': '~',
  '^': '^',
};

// Comparisons with blanks or one comma between them. A hyphen with blanks around it makes one range of two versions.
function parseGroup(text: string): Group | undefined {
  const comparisons: Comparison[] = [];
  let at = skipBlanks(text, 0);
  while (at < text.length) {
    const found = takeRange(text, at) ?? takeComparison(text, at);
    if (found === undefined) return undefined;
    comparisons.push(...found.comparisons);
    const next = skipBlanks(text, found.end);
    const isComma = text[next] === ',';
    at = isComma ? skipBlanks(text, next + 1) : next;
    // Two comparisons need something between them, and a comma needs one after it.
    if (at === text.length ? isComma : at === found.end) return undefined;
  }
  if (comparisons.length === 0) return undefined;
  return { comparisons, namesPrerelease: comparisons.some(({ version }) => version.prerelease !== '') };
}

interface Taken {
  comparisons: Comparison[];
  end: number;
}

function takeRange(text: string, at: number): Taken | undefined {
  HYPHENATED.lastIndex = at;
  const match = HYPHENATED.exec(text);
  if (match === null) return undefined;
  const low = comparisonOf('>=', match.slice(1, 5));
  const high = comparisonOf('<=', match.slice(5, 9));
  return low === undefined || high === undefined ? undefined : { comparisons: [low, high], end: HYPHENATED.lastIndex };
}

function takeComparison(text: string, at: number): Taken | undefined {
  COMPARISON.lastIndex = at;
  const match = COMPARISON.exec(text);
  const comparison = match === null ? undefined : comparisonOf(SPELLINGS[match[1] ?? ''] ?? '=', match.slice(2, 6));
  return comparison === undefined ? undefined : { comparisons: [comparison], end: COMPARISON.lastIndex };
}

// The parts after a wildcard are wildcards too: `1.x.3` is `1.x`.
function comparisonOf(operator: Operator, parts: (string | undefined)[]): Comparison | undefined {
  const [major, minor, patch, prerelease] = parts;
  const numbers = [major, minor, patch];
  const wild = numbers.findIndex((part) => part === undefined || /^[xX*]$/.test(part));
  const given = (wild === -1 ? 3 : wild) as Comparison['given'];
  const whole = numbers.map((part, i) => (i < given ? part : '0')).join('.');
  const version = parseVersion(prerelease === undefined ? whole : `${whole}-${prerelease}`);
  return version === undefined ? undefined : { operator, version, given };
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? '')) at++;
  return at;
}

function holds(version: Version, { operator, version: bound, given }: Comparison): boolean {
  const order = compareVersions(version, bound);
  switch (operator) {
    case '=':
      return given === 3 ? order === 0 : isWithinTilde(version, bound, given);
    case '!=':
      return given === 3 ? order !== 0 : !isInWildcard(version, bound, given);
    case '>':
      return given === 3 || given === 0 ? order > 0 : isPastWildcard(version, bound, given);
    case '<':
      return order < 0;
    case '>=':
      return order >= 0;
    case '<=':
      return given === 3 ? order <= 0 : given === 0 || !isPastWildcard(version, bound, given);
    case '~':
      return isWithinTilde(version, bound, given);
    case '^':
      return isWithinCaret(version, bound, given);
  }
}

/** All given numbers must be equal: `1.2.7` is in `1.2.x`. */
function isInWildcard(version: Version, bound: Version, given: Comparison['given']): boolean {
  if (given >= 1 && version.major !== bound.major) return false;
  if (given >= 2 && version.minor !== bound.minor) return false;
  // `4.1-alpha` without a patch means the prerelease: 4.1.0 is something else.
  return given < 2 || version.prerelease === bound.prerelease;
}

/** Greater than all of a wildcard: `1.3.0` is past `1.2.x`. */
function isPastWildcard(version: Version, bound: Version, given: Comparison['given']): boolean {
  if (version.major !== bound.major) return version.major > bound.major;
  return given >= 2 && version.minor > bound.minor;
}

/** `~1.2.3` is 1.2.3 and later of 1.2; `~1` is all of 1; `~*` and `~0.0.0` are everything. */
function isWithinTilde(version: Version, bound: Version, given: Comparison['given']): boolean {
  if (compareVersions(version, bound) < 0) return false;
  const isZero = bound.major === 0 && bound.minor === 0 && bound.patch === 0;
  if (given === 0 || (given === 3 && isZero)) return true;
  return version.major === bound.major && (given < 2 || version.minor === bound.minor);
}

/** Later, with the leftmost number that is not zero unchanged: `^0.2.3` stays in 0.2, `^1.2` in 1. */
function isWithinCaret(version: Version, bound: Version, given: Comparison['given']): boolean {
  if (compareVersions(version, bound) < 0) return false;
  if (given === 0) return true;
  if (version.major !== bound.major) return false;
  if (bound.major > 0 || given === 1) return true;
  if (version.minor !== bound.minor) return false;
  return bound.minor > 0 || given === 2 || version.patch === bound.patch;
}

function comparePrereleases(left: string, right: string): number {
  if (left === right) return 0;
  // A release comes after its prereleases.
  if (left === '') return 1;
  if (right === '') return -1;
  const [lefts, rights] = [left.split('.'), right.split('.')];
  for (let i = 0; i < Math.max(lefts.length, rights.length); i++) {
    const order = compareIdentifiers(lefts[i], rights[i]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareIdentifiers(left: string | undefined, right: string | undefined): number {
  if (left === right) return 0;
  if (left === undefined) return -1;
  if (right === undefined) return 1;
  const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (leftIsNumber && rightIsNumber) return left.length - right.length || (left < right ? -1 : 1);
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return left < right ? -1 : 1;
}
