// Configuration as YAML text: block style, every string in double quotes (JSON's escapes are YAML's), undefined fields left out.
// Equal content has equal text: fields are in an order of their own, since a server gives back what it stored in another order
// than it got it. Written by hand because the text of one virtual cluster is put together with that of a thousand others that
// did not change.
import { isRecord } from '@capstan/kube';

/** The lines of a value below a field or an item, each with the indentation. */
export function yamlLines(value: unknown, indent = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => itemLines(item, indent));
  if (isRecord(value)) return fieldsOf(value).flatMap(([name, part]) => fieldLines(keyText(name), part, indent));
  return [`${indent}${scalar(value)}`];
}

/** The lines of one item of a list. */
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

/** What something is comes before what it is like. */
const FIRST: readonly string[] = ['name', 'type'];

function rankOf(name: string): number {
  const rank = FIRST.indexOf(name);
  return rank < 0 ? FIRST.length : rank;
}

/** Keys that YAML could take for something else (`yes`, `1`, `a: b`) are quoted. */
function keyText(name: string): string {
  return /^[A-Za-z][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name.toLowerCase()) ? name : quoted(name);
}

/** Characters that JSON leaves as they are, and that older YAML takes for the end of a line or refuses, are escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const RESERVED = new Set(['null', 'true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n']);
