// Values as text: packed, so that they can be restored, and canonical, so that equal values have equal digests in every process.
import { hash } from 'node:crypto';
import { type Kind, kindId } from '@capstan/kube/cluster';
import { placeOf } from '../plan/index.ts';

/** The tag of values that JSON cannot hold. */
const TAG = '$capstan';

export interface Packed {
  readonly value: unknown;
  /** False if it holds functions, kinds or objects of classes: the unpacked value represents them, and does not behave like them. */
  readonly isWhole: boolean;
}

/** The same value as plain JSON; `text` may replace strings. Results may have kinds in them, inputs have none. */
export function pack(value: unknown, { text = same, name = same, hasKinds = false }: PackOptions = {}): Packed {
  const state = { isWhole: true, hasKinds, text, name };
  return { value: packed(value, state), isWhole: state.isWhole };
}

interface PackOptions {
  text?: (given: string) => string;
  /** Replaces names of fields. */
  name?: (given: string) => string;
  hasKinds?: boolean;
}

interface Packing {
  isWhole: boolean;
  readonly hasKinds: boolean;
  readonly text: (given: string) => string;
  readonly name: (given: string) => string;
}

function packed(value: unknown, state: Packing): unknown {
  if (typeof value === 'string') return state.text(value);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : { [TAG]: 'number', is: String(value) };
  if (value === undefined) return { [TAG]: 'undefined' };
  if (typeof value === 'bigint') return { [TAG]: 'bigint', is: String(value) };
  if (typeof value === 'function' || typeof value === 'symbol') {
    state.isWhole = false;
    return { [TAG]: 'function', is: typeof value === 'function' ? value.name : String(value) };
  }
  if (Array.isArray(value)) return value.map((item) => packed(item, state));
  if (value instanceof Uint8Array)
    return {
      [TAG]: 'bytes',
      is: state.text(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')),
    };
  if (value instanceof Map) return { [TAG]: 'map', is: packed([...value], state) };
  if (value instanceof Set) return { [TAG]: 'set', is: packed([...value], state) };
  if (value instanceof Error) {
    state.isWhole = false;
    return { [TAG]: 'error', is: state.text(value.message) };
  }
  if (state.hasKinds && isKind(value)) {
    state.isWhole = false;
    const place = placeOf(value);
    const { kind, group, version, plural } = value;
    return { [TAG]: 'kind', is: { kind, group, version, plural, ...(place !== undefined && { in: place }) } };
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) state.isWhole = false;
  const result: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value))
    if (part !== undefined) setField(result, state.name(name), packed(part, state));
  return TAG in result ? { [TAG]: 'object', is: Object.entries(result) } : result;
}

/** Sets a field, also one whose assignment would set the prototype. */
export function setField(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  else object[name] = value;
}

/** Returns the value of a packed one. Kinds and functions stay representations. Parts without tags are the given ones: most have none. */
export function unpack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return unpackedItems(value);
  const { [TAG]: tag, is } = value as { [TAG]?: string; is?: unknown };
  if (tag === 'undefined') return undefined;
  if (tag === 'number') return Number(is);
  if (tag === 'bigint') return BigInt(is as string);
  if (tag === 'bytes') return new Uint8Array(Buffer.from(is as string, 'base64'));
  if (tag === 'map') return new Map(unpack(is) as [unknown, unknown][]);
  if (tag === 'set') return new Set(unpack(is) as unknown[]);
  if (tag === 'object')
    return Object.fromEntries((is as [string, unknown][]).map(([name, part]) => [name, unpack(part)]));
  if (tag === 'kind' && typeof is === 'object') return { ...is, [TAG]: 'kind' };
  if (tag !== undefined) return value;
  return unpackedFields(value as Record<string, unknown>);
}

function unpackedItems(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const item = unpack(items[at]);
    if (item === items[at]) continue;
    copy ??= items.slice();
    copy[at] = item;
  }
  return copy ?? items;
}

function unpackedFields(fields: Record<string, unknown>): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const part = unpack(fields[name]);
    if (part === fields[name]) continue;
    copy ??= Object.fromEntries(Object.entries(fields));
    setField(copy, name, part);
  }
  return copy ?? fields;
}

/** A kind, also one that was unpacked, by its names alone: its schema and functions are the program's. */
function isKind(value: object): value is Kind {
  return 'plural' in value && 'kind' in value && 'group' in value && 'version' in value;
}

/** The same text for equal values: names in order, kinds by their ids, functions by their names. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'function') return `function:${value.name}`;
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `${typeof value}:${String(value)}`;
  }
  if (Array.isArray(value)) {
    let text = '[';
    for (let at = 0; at < value.length; at++)
      text += at === 0 ? canonicalText(value[at]) : `,${canonicalText(value[at])}`;
    return `${text}]`;
  }
  if (value instanceof Uint8Array) return `bytes:${hash('sha256', value, 'hex')}`;
  if (value instanceof Map || value instanceof Set) return canonicalText([...value]);
  if (value instanceof Error) return `error:${value.message}`;
  if (isKind(value)) return `kind:${kindId(value)} ${placeOf(value) ?? (value as { in?: string }).in ?? ''}`;
  if (TAG in value && value[TAG] === 'function') return `function:${String((value as { is?: unknown }).is)}`;
  const fields = value as Record<string, unknown>;
  let text = '{';
  for (const name of Object.keys(fields).sort()) {
    const part = fields[name];
    if (part !== undefined) text += `${JSON.stringify(name)}:${canonicalText(part)},`;
  }
  return `${text}}`;
}

const DIGITS = 16;

export function digestText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, DIGITS);
}

function same(given: string): string {
  return given;
}
