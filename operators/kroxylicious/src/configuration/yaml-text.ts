// Writes configuration as YAML text in block style. Every string is in double quotes (YAML accepts JSON's escapes), and undefined fields
// are left out. Fields have a fixed order, so that equal content has equal text: a server may return fields in another order than it
// received them. A YAML library would write the whole file on each change. This writer lets the text of one virtual cluster be joined with
// the unchanged text of a thousand others.
import { isRecord } from '@capstan/kube';

/** Returns the lines of a value below a field or an item, each with the indentation. */
export function yamlLines(value: unknown, indent = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => itemLines(item, indent));
  if (isRecord(value)) return fieldsOf(value).flatMap(([name, part]) => fieldLines(keyText(name), part, indent));
  return [`${indent}${scalar(value)}`];
}

/** Returns the lines of one list item. */
export function itemLines(item: unknown, indent = ''): string[] {
  if (isEmpty(item) || !isRecord(item)) {
    if (Array.isArray(item) && item.length > 0) return [`${indent}-`, ...yamlLines(item, `${indent}  `)];
    return [`${indent}- ${scalar(item)}`];
  }
  const [first = '', ...rest] = yamlLines(item, `${indent}  `);
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
}

function fieldLines(key: string, value: unknown, indent: string): string[] {
  if (isEmpty(value) || typeof value !== 'object' || value === null) return [`${indent}${key}: ${scalar(value)}`];
  return [`${indent}${key}:`, ...yamlLines(value, `${indent}  `)];
}

function scalar(value: unknown): string {
  if (Array.isArray(value)) return '[]';
  if (isRecord(value)) return '{}';
  return value === undefined ? 'null' : typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && fieldsOf(value).length === 0;
}

function fieldsOf(value: object): [string, unknown][] {
  return Object.entries(value)
    .filter(([, part]) => part !== undefined)
    .toSorted(([left], [right]) => rankOf(left) - rankOf(right) || (left < right ? -1 : 1));
}

/** Fields that identify an object come before the others. */
const FIRST: readonly string[] = ['name', 'type'];

function rankOf(name: string): number {
  const rank = FIRST.indexOf(name);
  return rank < 0 ? FIRST.length : rank;
}

/** Quotes keys that YAML could read as another type (`yes`, `1`, `a: b`). */
function keyText(name: string): string {
  return /^[A-Za-z][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name.toLowerCase()) ? name : quoted(name);
}

/** Also escapes characters that JSON leaves unescaped and that older YAML refuses or treats as the end of a line. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const RESERVED = new Set(['null', 'true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n']);
