// The errors of Go's decoder for a text that is not JSON. People and programs search for these words.

/** The message of Go's encoding/json for the first thing that is wrong with the text; undefined when nothing is. */
export function goJsonError(text: string): string | undefined {
  const reader = { text, at: 0 };
  try {
    value(reader);
    space(reader);
    const rest = peek(reader);
    return rest === undefined ? undefined : wrong(rest, 'after top-level value').message;
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message;
    // The stack ends before Go's limit of 10,000 levels, or beyond it.
    if (error instanceof RangeError) return 'exceeded max depth';
    throw error;
  }
}

class SyntaxProblem extends Error {}

interface Reader {
  readonly text: string;
  at: number;
}

const END = 'unexpected end of JSON input';

function wrong(character: string | undefined, where: string): SyntaxProblem {
  return new SyntaxProblem(character === undefined ? END : `invalid character ${quoted(character)} ${where}`);
}

function peek({ text, at }: Reader): string | undefined {
  const code = text.codePointAt(at);
  return code === undefined ? undefined : String.fromCodePoint(code);
}

function space(reader: Reader): void {
  while (/[ \t\r\n]/.test(reader.text.charAt(reader.at))) reader.at++;
}

function value(reader: Reader): void {
  space(reader);
  const first = peek(reader);
  if (first === '{') object(reader);
  else if (first === '[') list(reader);
  else if (first === '"') string(reader);
  else if (first === 't') literal(reader, 'true');
  else if (first === 'f') literal(reader, 'false');
  else if (first === 'n') literal(reader, 'null');
  else if (first !== undefined && /[-0-9]/.test(first)) number(reader);
  else throw wrong(first, 'looking for beginning of value');
}

function object(reader: Reader): void {
  reader.at++;
  space(reader);
  if (peek(reader) === '}') {
    reader.at++;
    return;
  }
  for (;;) {
    space(reader);
    if (peek(reader) !== '"') throw wrong(peek(reader), 'looking for beginning of object key string');
    string(reader);
    space(reader);
    if (peek(reader) !== ':') throw wrong(peek(reader), 'after object key');
    reader.at++;
    value(reader);
    space(reader);
    const next = peek(reader);
    if (next !== ',' && next !== '}') throw wrong(next, 'after object key:value pair');
    reader.at++;
    if (next === '}') return;
  }
}

function list(reader: Reader): void {
  reader.at++;
  space(reader);
  if (peek(reader) === ']') {
    reader.at++;
    return;
  }
  for (;;) {
    value(reader);
    space(reader);
    const next = peek(reader);
    if (next !== ',' && next !== ']') throw wrong(next, 'after array element');
    reader.at++;
    if (next === ']') return;
  }
}

function string(reader: Reader): void {
  reader.at++;
  for (;;) {
    const next = peek(reader);
    if (next === undefined || next < ' ') throw wrong(next, 'in string literal');
    reader.at += next.length;
    if (next === '"') return;
    if (next !== '\\') continue;
    const escape = peek(reader);
    if (escape === undefined || !/[bfnrt\\/"u]/.test(escape)) throw wrong(escape, 'in string escape code');
    reader.at++;
    for (let digits = escape === 'u' ? 4 : 0; digits > 0; digits--) {
      const digit = peek(reader);
      if (digit === undefined || !/[0-9a-fA-F]/.test(digit)) throw wrong(digit, 'in \\u hexadecimal character escape');
      reader.at++;
    }
  }
}

function number(reader: Reader): void {
  if (peek(reader) === '-') reader.at++;
  if (peek(reader) === '0') reader.at++;
  else digits(reader, 'in numeric literal');
  if (peek(reader) === '.') {
    reader.at++;
    digits(reader, 'after decimal point in numeric literal');
  }
  if (/[eE]/.test(reader.text.charAt(reader.at))) {
    reader.at++;
    if (/[+-]/.test(reader.text.charAt(reader.at))) reader.at++;
    digits(reader, 'in exponent of numeric literal');
  }
}

function digits(reader: Reader, where: string): void {
  if (!/[0-9]/.test(peek(reader) ?? '')) throw wrong(peek(reader), where);
  while (/[0-9]/.test(reader.text.charAt(reader.at))) reader.at++;
}

function literal(reader: Reader, word: string): void {
  for (const expected of word) {
    const found = peek(reader);
    if (found !== expected) throw wrong(found, `in literal ${word} (expecting '${expected}')`);
    reader.at++;
  }
}

const SHORT: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '\\': '\\\\',
};

function quoted(character: string): string {
  if (character === "'") return `'\\''`;
  if (character === '"') return `'"'`;
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number) => code.toString(16).padStart(digits, '0');
  if (SHORT[character] !== undefined) return `'${SHORT[character]}'`;
  if (code < 0x20 || code === 0x7f) return `'\\x${hex(2)}'`;
  return code > 0x7f && code < 0xa1 ? `'\\u${hex(4)}'` : `'${character}'`;
}
