import { equalJson } from '../schema/json-schema.ts';
import { noSuchOverload } from './errors.ts';
import {
  type CelList,
  type CelMap,
  type CelObject,
  fieldOf,
  itemOf,
  itemsOf,
  keysOf,
  keyText,
  kindOf,
  type Semver,
  type Value,
  valueAt,
} from './values.ts';

/**
 * Reports whether two values are equal. Numbers of different types are compared by size; other values of different types are never equal.
 */
export function equalValues(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a === 'string' && typeof b === 'string') return false;
  const numbers = compareNumbers(a, b);
  if (numbers !== undefined) return numbers === 0;
  const kind = kindOf(a);
  const otherKind = kindOf(b);
  const isMapping = (kind === 'map' || kind === 'object') && (otherKind === 'map' || otherKind === 'object');
  if (isMapping) return equalMappings(a as CelMap | CelObject, b as CelMap | CelObject);
  if (kind !== otherKind || typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  switch (a.kind) {
    case 'list':
      return equalLists(a, b as CelList);
    case 'timestamp':
    case 'duration':
    case 'quantity':
      return a.nanos === (b as typeof a).nanos;
    case 'type':
    case 'format':
      return a.name === (b as typeof a).name;
    case 'optional': {
      const other = (b as typeof a).value;
      if (a.value === undefined || other === undefined) return a.value === other;
      return equalValues(a.value, other);
    }
    case 'ip':
      return a.bits === (b as typeof a).bits && a.family === (b as typeof a).family;
    case 'cidr':
      return a.prefix === (b as typeof a).prefix && equalValues(a.ip, (b as typeof a).ip);
    case 'url':
      return a.text === (b as typeof a).text;
    case 'semver':
      return compareSemver(a, b as Semver) === 0;
    default:
      return false;
  }
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.items.length !== b.items.length) return false;
  if (a.listType === 'set') {
    const others = itemsOf(b);
    return itemsOf(a).every((item) => others.some((other) => equalValues(item, other)));
  }
  if (a.listType === 'map') {
    const byKey = new Map(itemsOf(a).map((item) => [mapKeyText(item, a.mapKeys ?? []), item]));
    const seen = new Set<string>();
    for (const other of itemsOf(b)) {
      const key = mapKeyText(other, a.mapKeys ?? []);
      const item = byKey.get(key);
      if (item === undefined || !equalValues(item, other)) return false;
      seen.add(key);
    }
    return seen.size === byKey.size;
  }
  for (let index = 0; index < a.items.length; index++) {
    if (!equalValues(itemOf(a, index), itemOf(b, index))) return false;
  }
  return true;
}

/** Concatenates two lists. In sets and lists of type map, items in both appear once, and the later one wins. */
export function addLists(a: CelList, b: CelList): CelList {
  if (a.listType === undefined) return { kind: 'list', items: [...itemsOf(a), ...itemsOf(b)] };
  const key = (item: Value): string => (a.listType === 'set' ? keyText(item) : mapKeyText(item, a.mapKeys ?? []));
  const merged = new Map<string, Value>();
  for (const item of [...itemsOf(a), ...itemsOf(b)]) merged.set(key(item), item);
  const { listType, mapKeys } = a;
  return { kind: 'list', items: [...merged.values()], listType, ...(mapKeys && { mapKeys }) };
}

function mapKeyText(item: Value, keys: readonly string[]): string {
  const parts = keys.map((key) => {
    const from = item as CelMap | CelObject;
    // In JSON, keys have their original names, even those that expressions cannot write.
    const part = from.kind === 'object' ? (from.raw[key] as Value | undefined) : from.get(key);
    return part === undefined ? '' : keyText(part);
  });
  return JSON.stringify(parts);
}

function equalMappings(a: CelMap | CelObject, b: CelMap | CelObject): boolean {
  if (a.kind === 'object' && b.kind === 'object') return equalObjects(a, b);
  const keys = keysOf(a);
  if (keys.length !== keysOf(b).length) return false;
  return keys.every((key) => {
    const other = valueAt(b, key);
    return other !== undefined && equalValues(valueAt(a, key) as Value, other);
  });
}

// The types of undeclared fields are not known, but objects that differ in them are different.
function equalObjects(a: CelObject, b: CelObject): boolean {
  const names = Object.keys(a.raw);
  if (names.length !== Object.keys(b.raw).length) return false;
  const known = new Map([...a.type.members].map(([field, { name }]) => [name, field]));
  return names.every((name) => {
    const field = known.get(name);
    if (field === undefined) return !Object.hasOwn(b.raw, name) || equalJson(a.raw[name], b.raw[name]);
    const left = fieldOf(a, field);
    const right = fieldOf(b, field);
    if (left === undefined || right === undefined) return left === right;
    return equalValues(left, right);
  });
}

/** Returns a negative number, zero or a positive number; NaN for a comparison with NaN; undefined if an operand is not a number. */
function compareNumbers(a: Value, b: Value): number | undefined {
  const left = numeric(a);
  const right = numeric(b);
  if (left === undefined || right === undefined) return undefined;
  if (typeof left === 'bigint' && typeof right === 'bigint') return left < right ? -1 : left > right ? 1 : 0;
  // If one operand is a double, compare doubles, even if an int loses digits.
  const first = Number(left);
  const second = Number(right);
  return first < second ? -1 : first > second ? 1 : first === second ? 0 : Number.NaN;
}

function numeric(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'uint'
    ? value.value
    : undefined;
}

/** Returns a negative number, zero or a positive number, or NaN for a comparison with NaN. Throws if CEL has no order for the values. */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  const numbers = compareNumbers(a, b);
  if (numbers !== undefined) return numbers;
  const kind = kindOf(a);
  if (kind !== kindOf(b)) throw noSuchOverload();
  switch (kind) {
    case 'bool':
      return Number(a) - Number(b);
    case 'bytes':
      return Buffer.compare(a as Uint8Array, b as Uint8Array);
    case 'timestamp':
    case 'duration': {
      const left = (a as { nanos: bigint }).nanos;
      const right = (b as { nanos: bigint }).nanos;
      return left < right ? -1 : left > right ? 1 : 0;
    }
    default:
      throw noSuchOverload();
  }
}

/** Compares by code points, not by UTF-16 units as JavaScript does. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    const isPair = left >= 0xd800 && right >= 0xd800;
    // A surrogate belongs to a code point above all code points with a single unit.
    const order = isPair ? rank(left) - rank(right) : left - right;
    return order < 0 ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Compares semantic versions without their build metadata: https://semver.org/#spec-item-11. */
export function compareSemver(a: Semver, b: Semver): number {
  for (const index of [0, 1, 2] as const) {
    if (a.numbers[index] !== b.numbers[index]) return a.numbers[index] < b.numbers[index] ? -1 : 1;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return Math.sign(b.pre.length - a.pre.length);
  for (let index = 0; index < Math.min(a.pre.length, b.pre.length); index++) {
    const left = a.pre[index] as string;
    const right = b.pre[index] as string;
    if (left === right) continue;
    const leftNumber = /^\d+$/.test(left);
    const rightNumber = /^\d+$/.test(right);
    if (leftNumber && rightNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
    if (leftNumber !== rightNumber) return leftNumber ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return Math.sign(a.pre.length - b.pre.length);
}
