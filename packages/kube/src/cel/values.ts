// The values of CEL. An int is a bigint within 64 bits and a double is a number, so that the two never mix. Types that JavaScript does not
// have are objects with a kind. Lists and objects from JSON are converted when an expression reads them, not before.
import type { QuantityFormat } from '../quantity.ts';
import type { CelType, ObjectType } from './typing/types.ts';

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | CelList
  | CelMap
  | CelObject
  | CelOptional
  | TypeValue
  | Quantity
  | Ip
  | Cidr
  | Url
  | NamedFormat
  | Semver;

export interface Uint {
  readonly kind: 'uint';
  readonly value: bigint;
}
export interface Timestamp {
  readonly kind: 'timestamp';
  /** Nanoseconds since 1970. */
  readonly nanos: bigint;
  /** The offset of its time zone from UTC in minutes, used for its text. Default: 0. */
  readonly offset?: number;
}
export interface Duration {
  readonly kind: 'duration';
  readonly nanos: bigint;
}
export interface CelList {
  readonly kind: 'list';
  readonly items: readonly unknown[];
  /** Converts an item to a value; absent if the items are values. */
  readonly convert?: (item: unknown) => Value;
  /** x-kubernetes-list-type: sets and maps are equal in any order, and are merged when they are added. */
  readonly listType?: 'set' | 'map';
  readonly mapKeys?: readonly string[];
}
export interface CelMap {
  readonly kind: 'map';
  readonly size: number;
  get(key: Value): Value | undefined;
  keys(): Value[];
}
/** A JSON object with the fields of its schema. */
export interface CelObject {
  readonly kind: 'object';
  readonly raw: Readonly<Record<string, unknown>>;
  readonly type: JsonObjectType;
}
export interface JsonObjectType extends ObjectType {
  /** The members by their names in expressions, which may be escaped: the name in JSON, and the conversion to a value. */
  readonly members: ReadonlyMap<string, { readonly name: string; readonly convert: (json: unknown) => Value }>;
}
export interface CelOptional {
  readonly kind: 'optional';
  /** The value is undefined for optional.none(). */
  readonly value: Value | undefined;
}
export interface TypeValue {
  readonly kind: 'type';
  readonly name: string;
}
export interface Quantity {
  readonly kind: 'quantity';
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}
export interface Ip {
  readonly kind: 'ip';
  readonly family: 4 | 6;
  readonly bits: bigint;
}
export interface Cidr {
  readonly kind: 'cidr';
  readonly ip: Ip;
  readonly prefix: number;
}
export interface Url {
  readonly kind: 'url';
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly query: string;
}
export interface NamedFormat {
  readonly kind: 'format';
  readonly name: string;
  /** The length of the pattern, from which the cost is computed. */
  readonly regexSize: number;
  readonly check: (text: string) => readonly string[];
}
export interface Semver {
  readonly kind: 'semver';
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly pre: readonly string[];
  readonly build: readonly string[];
}

export const NONE: CelOptional = { kind: 'optional', value: undefined };
export const some = (value: Value): CelOptional => ({ kind: 'optional', value });
export const list = (items: readonly Value[]): CelList => ({ kind: 'list', items });
export const uint = (value: bigint): Uint => ({ kind: 'uint', value });

export function itemOf(from: CelList, index: number): Value {
  const item = from.items[index];
  return from.convert ? from.convert(item) : (item as Value);
}

export function itemsOf(from: CelList): readonly Value[] {
  return from.convert ? from.items.map(from.convert) : (from.items as readonly Value[]);
}

/** Creates a map whose keys are bool, int, uint or string. */
export function mapValue(entries: Iterable<readonly [key: Value, value: Value]>): CelMap {
  const byKey = new Map<string, readonly [Value, Value]>();
  for (const entry of entries) byKey.set(keyText(entry[0]), entry);
  return {
    kind: 'map',
    size: byKey.size,
    get: (key) => byKey.get(keyText(key))?.[1],
    keys: () => [...byKey.values()].map(([key]) => key),
  };
}

/** Returns the same text for equal keys: 1, 1u and 1.0 are one key. */
export function keyText(key: Value): string {
  switch (typeof key) {
    case 'string':
      return `s${key}`;
    case 'boolean':
      return `b${key}`;
    case 'bigint':
      return `n${key}`;
    case 'number':
      return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
    default:
      return key !== null && 'kind' in key && key.kind === 'uint' ? `n${key.value}` : '';
  }
}

/** One word for each of CEL's types. */
export type ValueKind =
  | 'null'
  | 'bool'
  | 'int'
  | 'double'
  | 'string'
  | 'bytes'
  | Exclude<Value, null | boolean | bigint | number | string | Uint8Array>['kind'];

export function kindOf(value: Value): ValueKind {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      if (value === null) return 'null';
      return value instanceof Uint8Array ? 'bytes' : value.kind;
  }
}

const TYPE_NAMES: Readonly<Record<ValueKind, string>> = {
  null: 'null_type',
  bool: 'bool',
  int: 'int',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  uint: 'uint',
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  list: 'list',
  map: 'map',
  object: 'map',
  optional: 'optional_type',
  type: 'type',
  quantity: 'kubernetes.Quantity',
  ip: 'net.IP',
  cidr: 'net.CIDR',
  url: 'kubernetes.URL',
  format: 'kubernetes.NamedFormat',
  semver: 'kubernetes.Semver',
};

/** Returns the name of the type of a value, as `type(value)` shows it. */
export function typeName(value: Value): string {
  return TYPE_NAMES[kindOf(value)];
}

/** Reports whether a value fits a type, for calls whose types are known only at run time. */
export function fitsType(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
    case 'error':
      return true;
    case 'opaque':
    case 'object':
      return kindOf(value) === 'object' || TYPE_NAMES[kindOf(value)] === type.name;
    case 'map':
      return kindOf(value) === 'map' || kindOf(value) === 'object';
    case 'list': {
      if (kindOf(value) !== 'list') return false;
      // Check only the first item. Nested lists are checked by the called function.
      const isNested = type.of.kind === 'list' || (value as CelList).items.length === 0;
      return isNested || fitsType(itemOf(value as CelList, 0), type.of);
    }
    default:
      return kindOf(value) === type.kind;
  }
}

/** Counts code points, as CEL does. */
export function characterCount(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      count--;
      at++;
    }
  }
  return count;
}

/** Returns the size from which costs are computed; 1 for a value without a size. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return characterCount(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof Uint8Array) return value.length;
  switch (value.kind) {
    case 'list':
      return value.items.length;
    case 'map':
      return value.size;
    case 'object':
      return Object.keys(value.raw).length;
    case 'optional':
      return value.value === undefined ? 1 : sizeOf(value.value);
    case 'ip':
      return value.family === 4 ? 4 : 16;
    case 'cidr':
      return value.ip.family === 4 ? 4 : 16;
    default:
      return 1;
  }
}

/** Returns the value under a key of a map or an object, or undefined if it has none. */
export function valueAt(from: CelMap | CelObject, key: Value): Value | undefined {
  if (from.kind === 'map') return from.get(key);
  return typeof key === 'string' ? fieldOf(from, key) : undefined;
}

/** Returns the keys of a map, or the present fields of an object. */
export function keysOf(from: CelMap | CelObject): Value[] {
  if (from.kind === 'map') return from.keys();
  return [...from.type.members.keys()].filter((name) => fieldOf(from, name) !== undefined);
}

/** Returns a field of an object by its name in expressions, or undefined if it is absent. */
export function fieldOf(from: CelObject, name: string): Value | undefined {
  const member = from.type.members.get(name);
  if (!member) return undefined;
  const json = Object.hasOwn(from.raw, member.name) ? from.raw[member.name] : undefined;
  // A field that is null counts as absent.
  return json === undefined || json === null ? undefined : member.convert(json);
}

/** Formats a key for messages. */
export function shownKey(key: Value): string {
  return kindOf(key) === 'uint' ? `${(key as Uint).value}` : `${key as string | bigint | boolean}`;
}
