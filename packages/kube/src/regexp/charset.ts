// Sets of code points as flat lists of ranges, `[lo, hi, lo, hi, …]`, sorted and disjoint once they are clean.

export type Charset = readonly number[];

export const MAX_CODE_POINT = 0x10ffff;
export const ANY: Charset = [0, MAX_CODE_POINT];
export const NEWLINE: Charset = [0x0a, 0x0a];
export const DIGIT: Charset = [0x30, 0x39];
export const WORD: Charset = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];
/** Without the vertical tab, unlike JavaScript's \s. */
export const PERL_SPACE: Charset = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20];

export const POSIX_CLASSES: Readonly<Record<string, Charset>> = {
  alnum: [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a],
  alpha: [0x41, 0x5a, 0x61, 0x7a],
  ascii: [0x00, 0x7f],
  blank: [0x09, 0x09, 0x20, 0x20],
  cntrl: [0x00, 0x1f, 0x7f, 0x7f],
  digit: DIGIT,
  graph: [0x21, 0x7e],
  lower: [0x61, 0x7a],
  print: [0x20, 0x7e],
  punct: [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e],
  space: [0x09, 0x0d, 0x20, 0x20],
  upper: [0x41, 0x5a],
  word: WORD,
  xdigit: [0x30, 0x39, 0x41, 0x46, 0x61, 0x66],
};

/** The ranges sorted and merged. */
export function cleanCharset(ranges: readonly number[]): Charset {
  if (ranges.length <= 2) return ranges;
  const pairs: [lo: number, hi: number][] = [];
  for (let at = 0; at < ranges.length; at += 2) pairs.push([ranges[at] as number, ranges[at + 1] as number]);
  pairs.sort((a, b) => a[0] - b[0]);
  const clean: number[] = [];
  for (const [lo, hi] of pairs) {
    const last = clean.at(-1);
    if (last !== undefined && lo <= last + 1) clean[clean.length - 1] = Math.max(last, hi);
    else clean.push(lo, hi);
  }
  return clean;
}

/** Everything that a clean set does not have. */
export function negateCharset(set: Charset): Charset {
  const negated: number[] = [];
  let next = 0;
  for (let at = 0; at < set.length; at += 2) {
    const lo = set[at] as number;
    if (lo > next) negated.push(next, lo - 1);
    next = (set[at + 1] as number) + 1;
  }
  if (next <= MAX_CODE_POINT) negated.push(next, MAX_CODE_POINT);
  return negated;
}

export function hasCodePoint(set: Charset, code: number): boolean {
  let low = 0;
  let high = set.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (code > (set[2 * middle + 1] as number)) low = middle + 1;
    else high = middle;
  }
  return low < set.length >> 1 && code >= (set[2 * low] as number);
}

/** The set with everything that differs from a member in case only, by simple case folding. */
export function foldCharset(set: Charset): Charset {
  const folded = [...set];
  let isAscii = true;
  for (let at = 0; at < set.length; at += 2) {
    const lo = set[at] as number;
    const hi = set[at + 1] as number;
    if (hi > 0x7f) isAscii = false;
    addFoldedAscii(folded, lo, hi, 0x41, 0x5a, 0x20);
    addFoldedAscii(folded, lo, hi, 0x61, 0x7a, -0x20);
  }
  if (isAscii) return cleanCharset(folded);
  // JavaScript compares by the same folding, so it is asked about each letter that has a case.
  const source = set.map((code, at) => `${at % 2 === 0 ? '' : '-'}\\u{${code.toString(16)}}`).join('');
  const hasFolded = new RegExp(`^[${source}]$`, 'iu');
  for (const letter of casedLetters()) {
    if (hasFolded.test(letter)) {
      const code = letter.codePointAt(0) as number;
      folded.push(code, code);
    }
  }
  return cleanCharset(folded);
}

function addFoldedAscii(folded: number[], lo: number, hi: number, from: number, to: number, shift: number): void {
  const start = Math.max(lo, from);
  const end = Math.min(hi, to);
  if (start > end) return;
  folded.push(start + shift, end + shift);
  const upper = shift > 0 ? 0 : shift;
  // The Kelvin sign is a k, the long s is an s.
  if (start + upper <= 0x4b && 0x4b <= end + upper) folded.push(0x212a, 0x212a);
  if (start + upper <= 0x53 && 0x53 <= end + upper) folded.push(0x17f, 0x17f);
}

// A constant that is too long to be computed before a user needs it.
let cased: readonly string[] | undefined;

function casedLetters(): readonly string[] {
  if (cased) return cased;
  const found: string[] = [];
  for (let code = 0; code < 0x1f000; code++) {
    if (code === 0xac00) code = 0xd7a4;
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    if (/[\p{CWCM}\p{CWCF}]/u.test(letter)) found.push(letter);
  }
  cased = found;
  return found;
}
