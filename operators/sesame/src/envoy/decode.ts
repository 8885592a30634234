// Protobuf becomes values as `encode` takes them. Fields and types that the tables do not have are left out. The bytes come from
// clients: nesting and the number of fields are limited, so that no message exhausts the stack or the memory.
import { WireError, WireReader } from '@capstan/kube/protobuf';
import type { AllMessages } from './message-types.ts';
import { enumTable, type Field, messageTable, TYPE_URL_PREFIX } from './tables.ts';

/** Bytes that are no message. */
export { WireError as DecodeError } from '@capstan/kube/protobuf';

type Decoded = { [field: string]: unknown };

/**
 * Protobuf's own libraries have the same limit of nested messages. The limit of fields and items is our own: a request for 250,000 names
 * with their versions has a million.
 */
const LIMITS = { depth: 100, fields: 4_000_000 };

/** An Any of a type that the tables do not have holds its bytes under `value`. */
export function decode<Name extends keyof AllMessages>(type: Name, bytes: Uint8Array): AllMessages[Name];
export function decode(type: string, bytes: Uint8Array): unknown {
  return readMessage(type, WireReader.limited(bytes, LIMITS));
}

function readMessage(type: string, reader: WireReader): unknown {
  const special = SPECIAL[type];
  if (special) return special(reader);
  const table = messageTable(type);
  if (!table) throw new WireError(`${type}: there is no such message in the tables`);
  const value: Decoded = {};
  while (reader.next()) {
    const field = table.byNumber.get(reader.number);
    if (!field) continue;
    if (field.label === 'one') value[field.name] = readValue(field.type, reader);
    else if (field.label === 'list') readItems((value[field.name] ??= []) as unknown[], field, reader);
    else {
      const [key, content] = readEntry(field, reader.message());
      setEntry((value[field.name] ??= {}) as Decoded, key, content);
    }
  }
  return value;
}

function readItems(items: unknown[], field: Field, reader: WireReader): void {
  const values = enumTable(field.type);
  const isPacked = reader.isBytes && (INTEGERS.has(field.type) || values !== undefined);
  if (!isPacked) items.push(readValue(field.type, reader));
  else for (const number of reader.packed()) items.push(integerValue(field.type, number));
}

function readEntry(field: Field, entry: WireReader): [string, unknown] {
  let key = '';
  let value: unknown;
  while (entry.next()) {
    if (entry.number === 1) key = String(readValue(field.keyType, entry));
    else if (entry.number === 2) value = readValue(field.type, entry);
  }
  return [key, value ?? defaultOf(field.type)];
}

/** Sets an entry under any key: an assignment to `__proto__` would replace the prototype. */
function setEntry(target: Decoded, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function defaultOf(type: string): unknown {
  if (type === 'string') return '';
  if (type === 'bool') return false;
  if (INTEGERS.has(type) || type === 'double' || type === 'float') return 0;
  return messageTable(type) || SPECIAL[type] ? readMessage(type, new WireReader(new Uint8Array())) : undefined;
}

/** Lists of doubles and floats do not occur. */
const INTEGERS = new Set(['bool', 'int32', 'int64', 'uint32', 'uint64']);

function readValue(type: string, reader: WireReader): unknown {
  switch (type) {
    case 'string':
      return reader.text();
    case 'bytes':
      return Uint8Array.from(reader.bytes());
    case 'double':
      return reader.double();
    case 'float':
      return Number(reader.float().toPrecision(7));
    default:
      if (INTEGERS.has(type) || enumTable(type)) return integerValue(type, reader.integer());
      return readMessage(type, reader.message());
  }
}

/** The value of a number: a flag, the name of an enum's value, or the number itself. */
function integerValue(type: string, number: number): unknown {
  if (type === 'bool') return number !== 0;
  return enumTable(type)?.byNumber.get(number) ?? number;
}

/** Reads the fields of a small message by their numbers. */
function readNumbers(reader: WireReader): Map<number, number> {
  const numbers = new Map<number, number>();
  while (reader.next()) if (!reader.isBytes) numbers.set(reader.number, reader.integer());
  return numbers;
}

function unwrap(type: string): (reader: WireReader) => unknown {
  return (reader) => {
    let value = defaultOf(type);
    while (reader.next()) if (reader.number === 1) value = readValue(type, reader);
    return value;
  };
}

const SPECIAL: Readonly<Record<string, (reader: WireReader) => unknown>> = {
  'google.protobuf.Any'(reader) {
    let type = '';
    let bytes: Uint8Array = new Uint8Array();
    while (reader.next()) {
      if (!reader.isBytes) continue;
      if (reader.number === 1) type = reader.text();
      else if (reader.number === 2) bytes = reader.bytes();
    }
    const name = type.slice(TYPE_URL_PREFIX.length);
    const isKnown = messageTable(name) !== undefined;
    const content = isKnown ? (readMessage(name, reader.within(bytes)) as Decoded) : { value: Uint8Array.from(bytes) };
    return { '@type': type, ...content };
  },
  'google.protobuf.Duration'(reader) {
    const numbers = readNumbers(reader);
    const seconds = numbers.get(1) ?? 0;
    const nanos = numbers.get(2) ?? 0;
    const sign = seconds < 0 || nanos < 0 ? '-' : '';
    const fraction = nanos === 0 ? '' : `.${String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '')}`;
    return `${sign}${Math.abs(seconds)}${fraction}s`;
  },
  'google.protobuf.Empty': (reader) => {
    readNumbers(reader);
    return {};
  },
  'google.protobuf.BoolValue': unwrap('bool'),
  'google.protobuf.StringValue': unwrap('string'),
  'google.protobuf.BytesValue': unwrap('bytes'),
  'google.protobuf.UInt32Value': unwrap('uint32'),
  'google.protobuf.UInt64Value': unwrap('uint64'),
  'google.protobuf.Int32Value': unwrap('int32'),
  'google.protobuf.Int64Value': unwrap('int64'),
  'google.protobuf.DoubleValue': unwrap('double'),
  'google.protobuf.FloatValue': unwrap('float'),
  'google.protobuf.Struct': readStruct,
  'google.protobuf.Value': readJson,
  'google.protobuf.ListValue': readJsonList,
  // Only people see it: other information of a node about itself is not read.
  'google.protobuf.Timestamp'(reader) {
    const time = new Date((readNumbers(reader).get(1) ?? 0) * 1000);
    if (Number.isNaN(time.getTime())) throw new WireError('a time is out of range');
    return time.toISOString();
  },
};

function readStruct(reader: WireReader): Decoded {
  const value: Decoded = {};
  while (reader.next()) {
    if (reader.number !== 1) continue;
    const entry = reader.message();
    let key = '';
    let content: unknown = null;
    while (entry.next()) {
      if (entry.number === 1) key = entry.text();
      else if (entry.number === 2) content = readJson(entry.message());
    }
    setEntry(value, key, content);
  }
  return value;
}

function readJson(reader: WireReader): unknown {
  let value: unknown = null;
  while (reader.next()) {
    if (reader.number === 2) value = reader.double();
    else if (reader.number === 3) value = reader.text();
    else if (reader.number === 4) value = reader.integer() !== 0;
    else if (reader.number === 5) value = readStruct(reader.message());
    else if (reader.number === 6) value = readJsonList(reader.message());
  }
  return value;
}

function readJsonList(reader: WireReader): unknown[] {
  const items: unknown[] = [];
  while (reader.next()) if (reader.number === 1) items.push(readJson(reader.message()));
  return items;
}
