// Protobuf becomes values as `encode` takes them. Fields and types that the tables do not have are left out. The bytes come from
// clients: nesting and the number of fields are limited, so that no message exhausts the stack or the memory.
import type { AllMessages } from './message-types.ts';
import { enumTable, type Field, messageTable, TYPE_URL_PREFIX } from './tables.ts';

/** Bytes that are no message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

type Decoded = { [field: string]: unknown };

/** Messages within messages; protobuf's own libraries have the same limit. */
const MAX_DEPTH = 100;
/** Fields and items of one message with all that is in it: a request for 250,000 names with their versions has a million. */
const MAX_FIELDS = 4_000_000;

/** An Any of a type that the tables do not have holds its bytes under `value`. */
export function decode<Name extends keyof AllMessages>(type: Name, bytes: Uint8Array): AllMessages[Name];
export function decode(type: string, bytes: Uint8Array): unknown {
  return readMessage(type, new Reader(bytes));
}

class Reader {
  readonly #bytes: Buffer;
  readonly #depth: number;
  /** Shared by all readers of one message. */
  readonly #budget: { fields: number };
  #at = 0;

  constructor(bytes: Uint8Array, depth = 0, budget = { fields: MAX_FIELDS }) {
    if (depth > MAX_DEPTH) throw new DecodeError(`the message is nested more than ${MAX_DEPTH} levels deep`);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#depth = depth;
    this.#budget = budget;
  }

  /** A reader of the next field, which is a message or a packed list. */
  inner(): Reader {
    return this.within(this.bytes());
  }

  /** A reader of bytes that belong to this message. */
  within(bytes: Uint8Array): Reader {
    return new Reader(bytes, this.#depth + 1, this.#budget);
  }

  /** The tag of the next field. */
  tag(): number {
    this.count();
    return this.varint();
  }

  count(): void {
    this.#budget.fields -= 1;
    if (this.#budget.fields < 0) throw new DecodeError(`the message has more than ${MAX_FIELDS} fields`);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** A number of ten bytes is negative; others above 2^53 lose their low bits, and nothing here has such. */
  varint(): number {
    const start = this.#at;
    let value = 0;
    let factor = 1;
    for (let count = 0; count < 10; count += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new DecodeError('the message ends inside a number');
      this.#at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return count === 9 ? this.#negative(start) : value;
      factor *= 128;
    }
    throw new DecodeError('a number has more than ten bytes');
  }

  bytes(): Buffer {
    const length = this.varint();
    return this.#take(length);
  }

  double(): number {
    return this.#take(8).readDoubleLE();
  }

  float(): number {
    return this.#take(4).readFloatLE();
  }

  skip(wire: number): void {
    if (wire === 0) this.varint();
    else if (wire === 1) this.#take(8);
    else if (wire === 2) this.bytes();
    else if (wire === 5) this.#take(4);
    else throw new DecodeError(`${wire} is no wire type`);
  }

  #negative(start: number): number {
    let value = 0n;
    for (let index = 9; index >= 0; index -= 1)
      value = (value << 7n) | BigInt((this.#bytes[start + index] ?? 0) & 0x7f);
    return Number(BigInt.asIntN(64, value));
  }

  #take(length: number): Buffer {
    if (length < 0 || length > this.#bytes.length - this.#at) throw new DecodeError('the message ends inside a field');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function readMessage(type: string, reader: Reader): unknown {
  const special = SPECIAL[type];
  if (special) return special(reader);
  const table = messageTable(type);
  if (!table) throw new DecodeError(`${type}: there is no such message in the tables`);
  const value: Decoded = {};
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    const wire = tag & 7;
    const field = table.byNumber.get(Math.floor(tag / 8));
    if (!field) reader.skip(wire);
    else if (field.label === 'one') value[field.name] = readValue(field.type, reader, wire);
    else if (field.label === 'list') readItems((value[field.name] ??= []) as unknown[], field, reader, wire);
    else {
      const [key, content] = readEntry(field, reader);
      setEntry((value[field.name] ??= {}) as Decoded, key, content);
    }
  }
  return value;
}

function readItems(items: unknown[], field: Field, reader: Reader, wire: number): void {
  const isPacked = wire === 2 && (NUMBERS.has(field.type) || enumTable(field.type) !== undefined);
  if (!isPacked) {
    items.push(readValue(field.type, reader, wire));
    return;
  }
  const packed = reader.inner();
  while (!packed.isAtEnd) {
    packed.count();
    items.push(readValue(field.type, packed, 0));
  }
}

function readEntry(field: Field, reader: Reader): [string, unknown] {
  const entry = reader.inner();
  let key = '';
  let value: unknown;
  while (!entry.isAtEnd) {
    const tag = entry.tag();
    if (tag >> 3 === 1) key = String(readValue(field.keyType, entry, tag & 7));
    else if (tag >> 3 === 2) value = readValue(field.type, entry, tag & 7);
    else entry.skip(tag & 7);
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
  if (NUMBERS.has(type)) return 0;
  return messageTable(type) || SPECIAL[type] ? readMessage(type, new Reader(new Uint8Array())) : undefined;
}

const NUMBERS = new Set(['bool', 'int32', 'int64', 'uint32', 'uint64', 'double', 'float']);

function readValue(type: string, reader: Reader, wire: number): unknown {
  switch (type) {
    case 'string':
      return reader.bytes().toString('utf8');
    case 'bytes':
      return Uint8Array.from(reader.bytes());
    case 'bool':
      return reader.varint() !== 0;
    case 'double':
      return reader.double();
    case 'float':
      return Number(reader.float().toPrecision(7));
    case 'uint32':
    case 'uint64':
    case 'int32':
    case 'int64':
      return reader.varint();
    default: {
      const values = enumTable(type);
      if (values) {
        const number = reader.varint();
        return values.byNumber.get(number) ?? number;
      }
      if (wire !== 2) throw new DecodeError(`${type}: the wire type ${wire} is not that of a message`);
      return readMessage(type, reader.inner());
    }
  }
}

/** Reads the fields of a small message by their numbers. */
function readNumbers(reader: Reader): Map<number, number> {
  const numbers = new Map<number, number>();
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if ((tag & 7) === 0) numbers.set(tag >> 3, reader.varint());
    else reader.skip(tag & 7);
  }
  return numbers;
}

function unwrap(type: string): (reader: Reader) => unknown {
  return (reader) => {
    let value = defaultOf(type);
    while (!reader.isAtEnd) {
      const tag = reader.tag();
      if (tag >> 3 === 1) value = readValue(type, reader, tag & 7);
      else reader.skip(tag & 7);
    }
    return value;
  };
}

const SPECIAL: Readonly<Record<string, (reader: Reader) => unknown>> = {
  'google.protobuf.Any'(reader) {
    let type = '';
    let bytes: Uint8Array = new Uint8Array();
    while (!reader.isAtEnd) {
      const tag = reader.tag();
      if (tag === 0x0a) type = reader.bytes().toString('utf8');
      else if (tag === 0x12) bytes = reader.bytes();
      else reader.skip(tag & 7);
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
  // Only shown to people: what else a node reports about itself is not read.
  'google.protobuf.Timestamp'(reader) {
    const time = new Date((readNumbers(reader).get(1) ?? 0) * 1000);
    if (Number.isNaN(time.getTime())) throw new DecodeError('a time is out of range');
    return time.toISOString();
  },
};

function readStruct(reader: Reader): Decoded {
  const value: Decoded = {};
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag !== 0x0a) {
      reader.skip(tag & 7);
      continue;
    }
    const entry = reader.inner();
    let key = '';
    let content: unknown = null;
    while (!entry.isAtEnd) {
      const part = entry.tag();
      if (part === 0x0a) key = entry.bytes().toString('utf8');
      else if (part === 0x12) content = readJson(entry.inner());
      else entry.skip(part & 7);
    }
    setEntry(value, key, content);
  }
  return value;
}

function readJson(reader: Reader): unknown {
  let value: unknown = null;
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === 0x11) value = reader.double();
    else if (tag === 0x1a) value = reader.bytes().toString('utf8');
    else if (tag === 0x20) value = reader.varint() !== 0;
    else if (tag === 0x2a) value = readStruct(reader.inner());
    else if (tag === 0x32) value = readJsonList(reader.inner());
    else reader.skip(tag & 7);
  }
  return value;
}

function readJsonList(reader: Reader): unknown[] {
  const items: unknown[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === 0x0a) items.push(readJson(reader.inner()));
    else reader.skip(tag & 7);
  }
  return items;
}
