import { goQuote } from '../../schema/go-text.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { type CelList, itemsOf, list, typeName } from '../values.ts';
import { formatText } from './format-text.ts';

// Positions count characters, not UTF-16 units. Most texts have no surrogate pairs and are used without conversion.
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/;
const charactersOf = (text: string): ArrayLike<string> & { length: number } =>
  PAIRS.test(text) ? Array.from(text) : text;

function sliced(text: string, start: number, end: number): string {
  return PAIRS.test(text) ? Array.from(text).slice(start, end).join('') : text.slice(start, end);
}

function outOfRange(index: bigint): CelError {
  return new CelError(`index out of range: ${index}`);
}

function charAt(text: string, index: bigint): string {
  const characters = charactersOf(text);
  if (index < 0n || index > BigInt(characters.length)) throw outOfRange(index);
  return characters[Number(index)] ?? '';
}

function indexOf(text: string, part: string, from: bigint): bigint {
  const { length } = charactersOf(text);
  if (from < 0n) throw outOfRange(from);
  // An empty part is found where the search begins.
  if (part === '') return from > BigInt(length) ? BigInt(length) : from;
  if (from >= BigInt(length)) return -1n;
  const offset = sliced(text, 0, Number(from)).length;
  const found = text.indexOf(part, offset);
  return found < 0 ? -1n : BigInt(charactersOf(text.slice(0, found)).length);
}

function lastIndexOf(text: string, part: string, from: bigint | undefined): bigint {
  const { length } = charactersOf(text);
  if (from !== undefined && from < 0n) throw outOfRange(from);
  if (part === '') return from === undefined || from > BigInt(length) ? BigInt(length) : from;
  if (from !== undefined && from >= BigInt(length)) return -1n;
  const offset = from === undefined ? text.length : sliced(text, 0, Number(from)).length;
  const found = text.lastIndexOf(part, offset);
  return found < 0 ? -1n : BigInt(charactersOf(text.slice(0, found)).length);
}

function substring(text: string, start: bigint, end: bigint | undefined): string {
  const length = BigInt(charactersOf(text).length);
  const to = end ?? length;
  if (end !== undefined && start > to) {
    throw new CelError(`invalid substring range. start: ${start}, end: ${to}`);
  }
  if (start < 0n || start > length) throw outOfRange(start);
  if (to < 0n || to > length) throw outOfRange(to);
  return sliced(text, Number(start), Number(to));
}

// Limit the result: replacing and joining cost little but can create a huge text. The limit is far above the size of an object.
const MAX_LENGTH = 2 ** 25;

function limited(length: number): void {
  if (length > MAX_LENGTH) throw new CelError(`the result is longer than ${MAX_LENGTH} characters`);
}

function replace(text: string, from: string, to: string, limit: bigint): string {
  limited(text.length + ((text.length + 1) / Math.max(1, from.length)) * to.length);
  if (limit < 0n) return from === '' ? everywhere(text, to, Infinity) : text.replaceAll(from, () => to);
  if (from === '') return everywhere(text, to, Number(limit));
  const parts = text.split(from);
  const count = Math.min(Number(limit), parts.length - 1);
  return (
    parts.slice(0, count + 1).join(to) +
    parts
      .slice(count + 1)
      .map((part) => from + part)
      .join('')
  );
}

// Replacing the empty text inserts the new text around each character.
function everywhere(text: string, to: string, limit: number): string {
  let left = limit;
  let out = left-- > 0 ? to : '';
  for (const char of text) out += left-- > 0 ? char + to : char;
  return out;
}

function split(text: string, separator: string, limit: bigint): CelList {
  if (limit === 0n) return list([]);
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return list(parts);
  const kept = Number(limit) - 1;
  return list([...parts.slice(0, kept), parts.slice(kept).join(separator)]);
}

const SPACE = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+';
const TRIMMED = new RegExp(`^${SPACE}|${SPACE}$`, 'g');

export const strings: readonly Overload[] = [
  method('charAt', '(string, int) -> string', 'string_char_at_int', charAt),
  method('indexOf', '(string, string) -> int', 'string_index_of_string', (text: string, part: string) =>
    indexOf(text, part, 0n),
  ),
  method('indexOf', '(string, string, int) -> int', 'string_index_of_string_int', indexOf),
  method('lastIndexOf', '(string, string) -> int', 'string_last_index_of_string', (text: string, part: string) =>
    lastIndexOf(text, part, undefined),
  ),
  method('lastIndexOf', '(string, string, int) -> int', 'string_last_index_of_string_int', lastIndexOf),
  method('lowerAscii', '(string) -> string', 'string_lower_ascii', (text: string) =>
    text.replace(/[A-Z]+/g, (part) => part.toLowerCase()),
  ),
  method('upperAscii', '(string) -> string', 'string_upper_ascii', (text: string) =>
    text.replace(/[a-z]+/g, (part) => part.toUpperCase()),
  ),
  method(
    'replace',
    '(string, string, string) -> string',
    'string_replace_string_string',
    (text: string, from: string, to: string) => replace(text, from, to, -1n),
  ),
  method('replace', '(string, string, string, int) -> string', 'string_replace_string_string_int', replace),
  method('split', '(string, string) -> list(string)', 'string_split_string', (text: string, separator: string) =>
    split(text, separator, -1n),
  ),
  method('split', '(string, string, int) -> list(string)', 'string_split_string_int', split),
  method('substring', '(string, int) -> string', 'string_substring_int', (text: string, start: bigint) =>
    substring(text, start, undefined),
  ),
  method('substring', '(string, int, int) -> string', 'string_substring_int_int', substring),
  method('trim', '(string) -> string', 'string_trim', (text: string) => text.replace(TRIMMED, '')),
  method('join', '(list(string)) -> string', 'list_join', (texts: CelList) => joined(texts, '')),
  method('join', '(list(string), string) -> string', 'list_join_string', joined),
  method('format', '(string, list(dyn)) -> string', 'string_format', formatText),
  func('strings.quote', '(string) -> string', 'strings_quote', (text: string) => goQuote(text)),
];

/** Functions that API servers do not offer. */
export const stringExtensions: readonly Overload[] = [
  method('reverse', '(string) -> string', 'string_reverse', (text: string) => Array.from(text).reverse().join('')),
];

function joined(texts: CelList, separator: string): string {
  const parts = itemsOf(texts).map((part) => {
    if (typeof part !== 'string') throw new CelError(`join: invalid input: ${typeName(part)}`);
    return part;
  });
  limited(parts.reduce((length, part) => length + part.length + separator.length, 0));
  return parts.join(separator);
}
