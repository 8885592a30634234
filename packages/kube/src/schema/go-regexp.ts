// Patterns in schemas are RE2 expressions, because kube-apiserver is written in Go. JavaScript's syntax is nearly a superset; what
// differs is rewritten here: flags at the start, \A, \z, \Q…\E, POSIX classes, one-letter \pL, named groups, \s, and escapes of
// characters that need none, which JavaScript refuses in unicode mode. What RE2 does not have (look-around, back-references) is
// refused, so that a pattern which passes here passes on a real server too.
import { SchemaError } from './errors.ts';

/** The pattern as a RegExp that matches what Go's regexp package would match; throws a SchemaError for a pattern that Go refuses. */
export function goRegExp(pattern: string): RegExp {
  const flags = /^\(\?([imsU]+)\)/.exec(pattern);
  const source = flags ? pattern.slice(flags[0].length) : pattern;
  const jsFlags = (flags?.[1] ?? '').replaceAll('U', '');
  try {
    return new RegExp(translated(source), `u${jsFlags}`);
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    const reason = inGoWords(error instanceof Error ? error.message : String(error), pattern);
    throw new SchemaError('InvalidPattern', `error parsing regexp: ${reason}`, { cause: error });
  }
}

// What both engines refuse, as Go words it.
function inGoWords(reason: string, pattern: string): string {
  if (reason.includes('Nothing to repeat')) {
    const operator = /(?:^|[(|])([*+?])/.exec(pattern)?.[1] ?? /[*+?]{2,}/.exec(pattern)?.[0] ?? pattern;
    return `missing argument to repetition operator: \`${operator}\``;
  }
  if (reason.includes('Unterminated group')) return `missing closing ): \`${pattern}\``;
  if (reason.includes("Unmatched ')'")) return `unexpected ): \`${pattern}\``;
  if (reason.includes('Unterminated character class')) {
    return `missing closing ]: \`${pattern.slice(pattern.lastIndexOf('['))}\``;
  }
  return reason.replace(/^Invalid regular expression: /, '');
}

const POSIX: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t ',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`\\{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

function translated(source: string): string {
  let out = '';
  let inClass = false;
  for (let at = 0; at < source.length; ) {
    const char = source.charAt(at);
    if (char === '\\') {
      const [text, length] = escapeAt(source, at, inClass);
      out += text;
      at += length;
    } else if (inClass) {
      const posix = /^\[:(\^?)(\w+):\]/.exec(source.slice(at));
      const set = posix?.[1] === '' ? POSIX[posix[2] ?? ''] : undefined;
      if (posix && set === undefined) refuse('invalid character class range', posix[0]);
      if (posix) out += set;
      else out += char === '[' ? '\\[' : char;
      if (!posix && char === ']') inClass = false;
      at += posix ? posix[0].length : 1;
    } else if (char === '[') {
      inClass = true;
      // A bracket right at the start of a class stands for itself.
      const start = /^\[\^?\]?/.exec(source.slice(at))?.[0] ?? char;
      out += start.endsWith(']') ? `${start.slice(0, -1)}\\]` : start;
      at += start.length;
    } else if (source.startsWith('(?', at)) {
      const [text, length] = groupAt(source, at);
      out += text;
      at += length;
    } else {
      // Outside a class JavaScript's unicode mode wants these escaped; RE2 takes them as they are where no repetition fits.
      const literal = char === '}' || char === ']' || (char === '{' && !/^\{\d+(,\d*)?\}/.test(source.slice(at)));
      const repetition = char === '{' && !literal ? /^\{\d+(,\d*)?\}/.exec(source.slice(at))?.[0] : undefined;
      if (repetition?.match(/\d+/g)?.some((count) => Number(count) > 1000)) refuse('invalid repeat count', repetition);
      out += repetition ?? (literal ? `\\${char}` : char);
      at += repetition?.length ?? 1;
    }
  }
  return out;
}

function escapeAt(source: string, at: number, inClass: boolean): [text: string, length: number] {
  const next = source.charAt(at + 1);
  const rest = source.slice(at);
  switch (next) {
    case '':
      return refuse('trailing backslash at end of expression', '');
    case 'A':
      return ['^', 2];
    case 'z':
      return ['$', 2];
    case 's':
      return [inClass ? '\\t\\n\\f\\r ' : '[\\t\\n\\f\\r ]', 2];
    case 'S':
      return [inClass ? '\\S' : '[^\\t\\n\\f\\r ]', 2];
    case 'a':
      return ['\\x07', 2];
    case 'Q': {
      const end = rest.indexOf('\\E');
      const literal = rest.slice(2, end < 0 ? undefined : end);
      return [literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), end < 0 ? rest.length : end + 2];
    }
    case 'x': {
      const braced = /^\\x\{([0-9a-fA-F]+)\}/.exec(rest);
      if (braced) return [`\\u{${braced[1]}}`, braced[0].length];
      if (/^\\x[0-9a-fA-F]{2}/.test(rest)) return [rest.slice(0, 4), 4];
      return refuse('invalid escape sequence', '\\x');
    }
    case 'p':
    case 'P': {
      const name = /^\\[pP](\{\^?\w+\}|\w)/.exec(rest);
      if (!name?.[1]) return refuse('invalid character class range', rest.slice(0, 2));
      const bare = name[1].replace(/[{}]/g, '');
      const negated = (next === 'P') !== bare.startsWith('^');
      const property = bare.replace('^', '');
      return [`\\${negated ? 'P' : 'p'}{${property.length > 2 ? 'Script=' : ''}${property}}`, name[0].length];
    }
    default:
      if (/[dDwWbBfnrtv]/.test(next)) return [rest.slice(0, 2), 2];
      if (/[0-7]/.test(next)) return octalAt(rest);
      if (/[A-Za-z89]/.test(next)) return refuse('invalid escape sequence', `\\${next}`);
      return [/[\\^$.*+?()[\]{}|/]/.test(next) || (inClass && next === '-') ? `\\${next}` : next, 2];
  }
}

function octalAt(rest: string): [text: string, length: number] {
  const digits = /^\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest)?.[1];
  // A single digit from 1 on would be a back-reference.
  if (digits === undefined) return refuse('invalid escape sequence', rest.slice(0, 2));
  return [`\\u{${Number.parseInt(digits, 8).toString(16)}}`, digits.length + 1];
}

function groupAt(source: string, at: number): [text: string, length: number] {
  const rest = source.slice(at);
  const named = /^\(\?P?<(\w+)>/.exec(rest);
  if (named) return [`(?<${named[1]}>`, named[0].length];
  const plain = /^\(\?[ims]*(-[ims]+)?:/.exec(rest)?.[0];
  if (plain !== undefined) return [plain, plain.length];
  return refuse('invalid or unsupported Perl syntax', rest.slice(0, 3));
}

function refuse(reason: string, what: string): never {
  throw new SchemaError('InvalidPattern', `error parsing regexp: ${reason}${what === '' ? '' : `: \`${what}\``}`);
}
