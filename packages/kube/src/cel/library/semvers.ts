import { compareSemver } from '../equality.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import type { Semver } from '../values.ts';

const SEMVER = 'kubernetes.Semver';
const NUMBER = '(0|[1-9]\\d*)';
const FORM = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-([^+]*))?(?:\\+(.*))?$`, 's');

function parse(text: string): Semver {
  if (text === '') throw new CelError('Version string empty');
  const [, major, minor, patch, pre, build] = FORM.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) {
    if (text.split('.').length < 3) throw new CelError('No Major.Minor.Patch elements found');
    throw new CelError(`Invalid character(s) found in version ${JSON.stringify(text)}`);
  }
  const preParts = pre === undefined ? [] : pre.split('.');
  const buildParts = build === undefined ? [] : build.split('.');
  for (const part of preParts) {
    if (part === '') throw new CelError('Prerelease is empty');
    if (/^0\d+$/.test(part)) throw new CelError(`Numeric PreRelease version must not contain leading zeroes "${part}"`);
    if (!/^[0-9A-Za-z-]+$/.test(part)) throw new CelError(`Invalid character(s) found in prerelease "${part}"`);
  }
  for (const part of buildParts) {
    if (part === '') throw new CelError('Build meta data is empty');
    if (!/^[0-9A-Za-z-]+$/.test(part)) throw new CelError(`Invalid character(s) found in build meta data "${part}"`);
  }
  return { kind: 'semver', numbers: [BigInt(major), BigInt(minor), BigInt(patch)], pre: preParts, build: buildParts };
}

/** Accepts a leading v, fewer than three numbers and leading zeros. */
function parseTolerant(text: string): Semver {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.');
  const parts = minor === undefined ? [major] : rest.length === 0 ? [major, minor] : [major, minor, rest.join('.')];
  const plain = parts.map((part) => part.replace(/^0+(?=\d)/, ''));
  if (plain.length < 3 && /[+-]/.test(plain.at(-1) ?? '')) {
    throw new CelError('short version cannot contain PreRelease/Build meta data');
  }
  while (plain.length < 3) plain.push('0');
  return parse(plain.join('.'));
}

const read = (text: string, isTolerant: boolean): Semver => (isTolerant ? parseTolerant(text) : parse(text));

function isSemver(text: string, isTolerant: boolean): boolean {
  try {
    read(text, isTolerant);
    return true;
  } catch {
    return false;
  }
}

export const semvers: readonly Overload[] = [
  func('semver', `(string) -> ${SEMVER}`, 'string_to_semver', (text: string) => parse(text)),
  func('semver', `(string, bool) -> ${SEMVER}`, 'string_bool_to_semver', read),
  func('isSemver', '(string) -> bool', 'is_semver_string', (text: string) => isSemver(text, false)),
  func('isSemver', '(string, bool) -> bool', 'is_semver_string_bool', isSemver),
  method('isGreaterThan', `(${SEMVER}, ${SEMVER}) -> bool`, 'semver_is_greater_than', (a: Semver, b: Semver) => {
    return compareSemver(a, b) > 0;
  }),
  method('isLessThan', `(${SEMVER}, ${SEMVER}) -> bool`, 'semver_is_less_than', (a: Semver, b: Semver) => {
    return compareSemver(a, b) < 0;
  }),
  method('compareTo', `(${SEMVER}, ${SEMVER}) -> int`, 'semver_compare_to', (a: Semver, b: Semver) =>
    BigInt(compareSemver(a, b)),
  ),
  method('major', `(${SEMVER}) -> int`, 'semver_major', ({ numbers }: Semver) => numbers[0]),
  method('minor', `(${SEMVER}) -> int`, 'semver_minor', ({ numbers }: Semver) => numbers[1]),
  method('patch', `(${SEMVER}) -> int`, 'semver_patch', ({ numbers }: Semver) => numbers[2]),
];
