// JSON.parse does not report duplicate fields: the last one wins. Strict field validation must report them, so the text is walked once
// more, without building anything.
import { goJsonError } from '../json/go-json-error.ts';
import { MAX_DEPTH } from '../json/value-limits.ts';

export interface ParsedText {
  value: unknown;
  /** The objections of strict validation, ready to be shown. */
  duplicates: readonly string[];
  /** Why it could not be parsed; the value is undefined then. */
  problem?: string;
}

/** A text that is beyond a limit. */
export class TextRefusal extends Error {
  readonly reason: 'depth' | 'values';

  constructor(reason: 'depth' | 'values') {
    super(reason);
    this.reason = reason;
  }
}

/** Parses JSON. */
export function readJson(text: string): ParsedText {
  let value: unknown;
  try {
    value = HALF_CHARACTER.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text);
  } catch {
    return { value: undefined, duplicates: [], problem: goJsonError(text) ?? 'unknown' };
  }
  return { value, duplicates: duplicateFields(text).map((path) => `duplicate field ${JSON.stringify(path)}`) };
}

/** An escape of one half of a character; alone it is no character, and becomes U+FFFD as in Go. */
const HALF_CHARACTER = /\\u[dD][89abcdefABCDEF]/;

function wellFormed(_: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (Object.keys(value).every((key) => key.isWellFormed())) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key.toWellFormed(), part]));
}

interface Level {
  /** The keys so far, or undefined in a list. */
  keys: Set<string> | undefined;
  index: number;
  /** The key that is being read. */
  key: string;
}

/** The paths of fields that an object has twice, each once, in the order of the text. The text is known to be JSON. */
export function duplicateFields(text: string): string[] {
  const levels: Level[] = [];
  const found = new Set<string>();
  let expectsKey = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '{':
        levels.push({ keys: new Set(), index: 0, key: '' });
        expectsKey = true;
        break;
      case '[':
        levels.push({ keys: undefined, index: 0, key: '' });
        expectsKey = false;
        break;
      case '}':
      case ']':
        levels.pop();
        expectsKey = false;
        break;
      case ',': {
        const level = levels.at(-1);
        expectsKey = level?.keys !== undefined;
        if (level && !level.keys) level.index += 1;
        break;
      }
      case '"': {
        const end = endOfString(text, at);
        const level = levels.at(-1);
        if (expectsKey && level?.keys) {
          level.key = JSON.parse(text.slice(at, end + 1)) as string;
          if (level.keys.has(level.key)) found.add(pathOf(levels));
          level.keys.add(level.key);
          expectsKey = false;
        }
        at = end;
        break;
      }
    }
    if (levels.length > MAX_DEPTH) throw new TextRefusal('depth');
  }
  return [...found];
}

/** The quote that ends the string: the first that is not escaped, which is one after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slash = end - 1;
    while (text[slash] === '\\') slash -= 1;
    if ((end - slash) % 2 === 1) return end;
  }
}

function pathOf(levels: readonly Level[]): string {
  let path = '';
  for (const { keys, key, index } of levels) path += keys ? `${path === '' ? '' : '.'}${key}` : `[${index}]`;
  return path;
}
