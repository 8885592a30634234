import {
  type Charset,
  cleanCharset,
  DIGIT,
  foldCharset,
  MAX_CODE_POINT,
  negateCharset,
  PERL_SPACE,
  POSIX_CLASSES,
  WORD,
} from './charset.ts';
import { RegexpError } from './errors.ts';
import { unicodeClass } from './unicode-class.ts';

export interface ParsedSet {
  readonly set: Charset;
  /** The position after it. */
  readonly end: number;
}

/** A bracket expression that begins at `start`. */
export function parseClass(pattern: string, start: number, foldCase: boolean): ParsedSet {
  let at = start + 1;
  const isNegated = pattern.charAt(at) === '^';
  if (isNegated) at++;
  const ranges: number[] = [];
  // A closing bracket right at the start stands for itself.
  for (let isFirst = true; pattern.charAt(at) !== ']' || isFirst; isFirst = false) {
    const named = posixClass(pattern, at, foldCase) ?? escapedClass(pattern, at, foldCase);
    if (named) {
      ranges.push(...named.set);
      at = named.end;
      continue;
    }
    const low = classChar(pattern, at, start);
    let high = low;
    if (pattern.charAt(low.end) === '-' && low.end + 1 < pattern.length && pattern.charAt(low.end + 1) !== ']') {
      high = classChar(pattern, low.end + 1, start);
      if (high.code < low.code) {
        throw new RegexpError('invalid character class range', pattern.slice(at, high.end));
      }
    }
    const range = [low.code, high.code];
    ranges.push(...(foldCase ? foldCharset(range) : range));
    at = high.end;
  }
  const set = cleanCharset(ranges);
  return { set: isNegated ? negateCharset(set) : set, end: at + 1 };
}

function classChar(pattern: string, at: number, classStart: number): { code: number; end: number } {
  if (at >= pattern.length) throw new RegexpError('missing closing ]', pattern.slice(classStart));
  if (pattern.charAt(at) === '\\') return parseEscape(pattern, at);
  const code = pattern.codePointAt(at) as number;
  return { code, end: at + (code > 0xffff ? 2 : 1) };
}

function posixClass(pattern: string, at: number, foldCase: boolean): ParsedSet | undefined {
  if (!pattern.startsWith('[:', at)) return undefined;
  const close = pattern.indexOf(':]', at + 2);
  if (close < 0) return undefined;
  const name = pattern.slice(at + 2, close);
  const isNegated = name.startsWith('^');
  const bare = isNegated ? name.slice(1) : name;
  const set = Object.hasOwn(POSIX_CLASSES, bare) ? POSIX_CLASSES[bare] : undefined;
  if (!set) throw new RegexpError('invalid character class range', `[:${name}:]`);
  return { set: signed(set, isNegated, foldCase), end: close + 2 };
}

const PERL_CLASSES: Readonly<Record<string, Charset>> = { d: DIGIT, s: PERL_SPACE, w: WORD };

/** `\d`, `\W`, `\pL`, `\P{Greek}` at a position; undefined when something else stands there. */
export function escapedClass(pattern: string, at: number, foldCase: boolean): ParsedSet | undefined {
  if (pattern.charAt(at) !== '\\') return undefined;
  const letter = pattern.charAt(at + 1);
  const lower = letter.toLowerCase();
  const perl = Object.hasOwn(PERL_CLASSES, lower) ? PERL_CLASSES[lower] : undefined;
  if (perl) return { set: signed(perl, letter !== lower, foldCase), end: at + 2 };
  if (lower !== 'p' || at + 2 >= pattern.length) return undefined;

  let name = String.fromCodePoint(pattern.codePointAt(at + 2) as number);
  let end = at + 2 + name.length;
  if (name === '{') {
    const close = pattern.indexOf('}', at);
    if (close < 0) throw new RegexpError('invalid character class range', pattern.slice(at));
    name = pattern.slice(at + 3, close);
    end = close + 1;
  }
  const isCaret = name.startsWith('^');
  const set = unicodeClass(isCaret ? name.slice(1) : name);
  if (!set) throw new RegexpError('invalid character class range', pattern.slice(at, end));
  return { set: signed(set, (letter === 'P') !== isCaret, foldCase), end };
}

function signed(set: Charset, isNegated: boolean, foldCase: boolean): Charset {
  const folded = foldCase ? foldCharset(set) : set;
  return isNegated ? negateCharset(folded) : folded;
}

const C_ESCAPES: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** The one character that the escape at `start` stands for. */
export function parseEscape(pattern: string, start: number): { code: number; end: number } {
  const rest = pattern.slice(start + 1);
  if (rest === '') throw new RegexpError('trailing backslash at end of expression', '');
  const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest)?.[0];
  // A single digit other than 0 would be a back-reference, which this syntax does not have.
  if (octal !== undefined) return { code: Number.parseInt(octal, 8), end: start + 1 + octal.length };
  const hex = /^x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\})/.exec(rest);
  const digits = hex?.[1] ?? hex?.[2];
  if (hex && digits !== undefined && Number.parseInt(digits, 16) <= MAX_CODE_POINT) {
    return { code: Number.parseInt(digits, 16), end: start + 1 + hex[0].length };
  }
  const char = String.fromCodePoint(rest.codePointAt(0) as number);
  const control = Object.hasOwn(C_ESCAPES, char) ? C_ESCAPES[char] : undefined;
  if (control !== undefined) return { code: control, end: start + 2 };
  if (char < '\u0080' && !/[0-9A-Za-z]/.test(char)) return { code: char.charCodeAt(0), end: start + 2 };
  const shown = char === 'x' ? (/^x(\{[0-9a-fA-F]*.?|.{0,2})/u.exec(rest)?.[0] ?? char) : char;
  throw new RegexpError('invalid escape sequence', `\\${shown}`);
}
