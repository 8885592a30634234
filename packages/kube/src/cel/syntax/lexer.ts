import { uint, type Value } from '../values.ts';
import type { Issue } from './source.ts';

export type Token =
  | { readonly type: 'ident' | 'symbol'; readonly text: string; readonly at: number }
  | { readonly type: 'literal'; readonly text: string; readonly at: number; readonly value: Value }
  /** An int without a sign. Its value may be one too large, because a minus may precede it. */
  | { readonly type: 'int'; readonly text: string; readonly at: number; readonly value: bigint }
  | { readonly type: 'end'; readonly text: '<EOF>'; readonly at: number };

const SPACE = /(?:[\t\n\f\r ]+|\/\/[^\n]*)*/y;
const IDENT = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER =
  /(?:(\d+(?:\.\d+)?[eE][+-]?\d+|\d*\.\d+(?:[eE][+-]?\d+)?)|(0x[0-9a-fA-F]+|\d+)([uU])|(0x[0-9a-fA-F]+|\d+))/y;
const SYMBOL = /&&|\|\||==|!=|<=|>=|[-+*/%<>=!?:.,()[\]{}]/y;
const STRING =
  /([bB][rR]?|[rR][bB]?)?(?:'''([^\\]|\\[^])*?'''|"""([^\\]|\\[^])*?"""|'(?:[^'\\\n\r]|\\[^])*'|"(?:[^"\\\n\r]|\\[^])*")/y;
const RAW_STRING = /([bB]?[rR][bB]?)(?:'''[^]*?'''|"""[^]*?"""|'[^'\n\r]*'|"[^"\n\r]*")/y;

/** Splits the text into tokens. Text that is no token is reported as an issue and skipped. */
export function tokenize(text: string, issues: Issue[]): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  for (;;) {
    at += take(SPACE)?.[0].length ?? 0;
    if (at >= text.length) break;
    const string = take(RAW_STRING) ?? take(STRING);
    const ident = string ? null : take(IDENT);
    const number = string || ident ? null : take(NUMBER);
    const symbol = string || ident || number ? null : take(SYMBOL);
    const found = (string ?? ident ?? number ?? symbol)?.[0];
    if (found === undefined || found === '=' || found === '&' || found === '|') {
      const rest = String.fromCodePoint(text.codePointAt(at) ?? 0);
      issues.push({ at, message: `Syntax error: token recognition error at: '${rest}'` });
      at += rest.length;
      continue;
    }
    if (string) {
      const value = stringValue(found, at, issues);
      tokens.push({ type: 'literal', text: found, at, value });
    } else if (ident) {
      const literal = LITERALS.get(found);
      if (literal === undefined) tokens.push({ type: 'ident', text: found, at });
      else tokens.push({ type: 'literal', text: found, at, value: literal });
    } else if (number) {
      const [, double, unsigned, , int] = number;
      if (double !== undefined) tokens.push({ type: 'literal', text: found, at, value: Number(double) });
      else if (unsigned !== undefined) {
        if (BigInt(unsigned) >= 2n ** 64n) issues.push({ at, message: 'invalid uint literal' });
        tokens.push({ type: 'literal', text: found, at, value: uint(BigInt.asUintN(64, BigInt(unsigned))) });
      } else tokens.push({ type: 'int', text: found, at, value: BigInt(int ?? '0') });
    } else {
      tokens.push({ type: 'symbol', text: found, at });
    }
    at += found.length;
  }
  tokens.push({ type: 'end', text: '<EOF>', at: text.length });
  return tokens;
}

const LITERALS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function stringValue(token: string, at: number, issues: Issue[]): Value {
  const prefix = /^[a-zA-Z]*/.exec(token)?.[0].toLowerCase() ?? '';
  const quoted = token.slice(prefix.length);
  const width = quoted.length >= 6 && /^("""|''')/.test(quoted) ? 3 : 1;
  const body = quoted.slice(width, -width).replace(/\r\n?/g, '\n');
  const isBytes = prefix.includes('b');
  if (prefix.includes('r') || !body.includes('\\')) return isBytes ? Buffer.from(body) : body;
  let text = '';
  const bytes: number[] = [];
  const escapes =
    /\\(?:([abfnrtv\\'"`?])|x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))|[^\\]+|\\/gu;
  for (const match of body.matchAll(escapes)) {
    const [whole, simple, hex, hexUpper, short, long, octal] = match;
    const byte = hex ?? hexUpper;
    if (!whole.startsWith('\\')) {
      text += whole;
      if (isBytes) bytes.push(...Buffer.from(whole));
    } else if (simple !== undefined) {
      text += SIMPLE_ESCAPES[simple] ?? simple;
      bytes.push((SIMPLE_ESCAPES[simple] ?? simple).charCodeAt(0));
    } else if (byte !== undefined || octal !== undefined) {
      const code = byte === undefined ? Number.parseInt(octal ?? '0', 8) : Number.parseInt(byte, 16);
      text += String.fromCharCode(code);
      bytes.push(code);
    } else {
      const code = Number.parseInt(short ?? long ?? '', 16);
      const isCodePoint = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      if (!isCodePoint || isBytes) issues.push({ at, message: 'unable to unescape string' });
      else text += String.fromCodePoint(code);
    }
  }
  return isBytes ? Uint8Array.from(bytes) : text;
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
