// Values as proto3 JSON has them, with the field names of the .proto files, become protobuf: durations are "1.5s", wrappers are
// the bare value, enums are names, an Any is an object with "@type", bytes are a Uint8Array or base64.
import { hash } from 'node:crypto';
import {
  type WireWriter,
  withWriter,
  withWritten,
  writeJson,
  writeJsonList,
  writeStruct,
} from '@capstan/kube/protobuf';
import { decode } from './decode.ts';
import { CONFIG_SOURCE, type Delivery, XDS_CLUSTER } from './delivery.ts';
import { EncodeError } from './errors.ts';
import type { ApiConfigSource, ConfigSource, Messages } from './gen/types.ts';
import type { AllMessages, MessageName } from './message-types.ts';
import { enumTable, type Field, type MessageTable, messageTable, TYPE_URL_PREFIX } from './tables.ts';

type Fields = { readonly [field: string]: unknown };

/** A part of a composed resource. A part that is the same for every delivery is encoded once. */
export class Fragment<Name extends MessageName = MessageName> {
  readonly type: Name;
  #value: Messages[Name] | undefined;
  #fixed: Uint8Array | undefined;
  /** Its bytes are the same for every delivery. */
  readonly isFixed: boolean;
  #hash: string | undefined;

  /** `isFixed`: nothing in it names a source. */
  constructor(type: Name, value: Messages[Name] | undefined, isFixed = false) {
    this.type = type;
    this.#value = value;
    this.isFixed = isFixed;
  }

  /** Decoded again once only the bytes are kept. */
  get value(): Messages[Name] {
    return this.#value ?? decode(this.type, this.bytes('grpc'));
  }

  /** The hash of its content. */
  hash(): string {
    this.#hash ??= withWritten(
      (writer) => this.write(writer, 'grpc'),
      (bytes) => hexHash(bytes),
    );
    return this.#hash;
  }

  bytes(delivery: Delivery): Uint8Array {
    return withWriter((writer) => this.write(writer, delivery));
  }

  write(writer: WireWriter, delivery: Delivery): void {
    if (this.isFixed && !this.#fixed) {
      this.#fixed = withWriter((inner) => writeMessage(inner, this.type, this.#value ?? {}, 'grpc'));
      this.#value = undefined;
    }
    if (this.#fixed) writer.bytes(this.#fixed);
    else writeMessage(writer, this.type, this.#value ?? {}, delivery);
  }
}

/** A message that a resource has under another name. Its first field is the name; the bytes of all others are those of the resource. */
export class RenamedFragment<Name extends MessageName> extends Fragment<Name> {
  readonly #name: string;
  readonly #any: Uint8Array;
  /** Where the bytes after the name begin. */
  readonly #rest: number;

  /** `any`: the bytes of the resource. */
  constructor(type: Name, name: string, any: Uint8Array) {
    super(type, undefined, true);
    this.#name = name;
    this.#any = any;
    this.#rest = afterName(any);
  }

  override write(writer: WireWriter): void {
    writer.bytes(this.#any.subarray(this.#rest));
    writer.text(this.#name, 1);
  }
}

/** In an Any, the end of the first field of the message in it. */
function afterName(any: Uint8Array): number {
  let at = 0;
  const length = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = any[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  for (const tag of [TYPE_URL_TAG, VALUE_TAG, NAME_TAG]) {
    if (any[at++] !== tag) throw new EncodeError('the message in the Any does not begin with its name');
    const size = length();
    if (tag !== VALUE_TAG) at += size;
  }
  return at;
}

const TYPE_URL_TAG = 0x0a;
const VALUE_TAG = 0x12;
const NAME_TAG = 0x0a;

/**
 * Fragments that follow one another in a list, encoded as entries of that list once: a resource that is composed of thousands of
 * fragments is sent as the buffers of its chunks, and a change of one fragment costs its chunk.
 */
export class FragmentChunk<Name extends MessageName = MessageName> {
  readonly fragments: readonly Fragment<Name>[];
  #entries: Partial<Record<Delivery, Uint8Array>> | undefined;

  constructor(fragments: readonly Fragment<Name>[]) {
    this.fragments = fragments;
  }

  /** `number`: of the field whose list it is part of; always the same one. */
  entries(number: number, delivery: Delivery): Uint8Array {
    // A form that is the same for every delivery is kept once.
    const form = this.fragments.every(({ isFixed }) => isFixed) ? 'grpc' : delivery;
    this.#entries ??= {};
    return (this.#entries[form] ??= withWriter((writer) => {
      for (let index = this.fragments.length - 1; index >= 0; index -= 1) {
        const before = writer.length;
        this.fragments[index]?.write(writer, form);
        writer.close(number, before);
      }
    }));
  }
}

/** A hash of the message in an Any, for which its bytes are not kept. */
export function hashAny<Name extends MessageName>(
  type: Name,
  value: Messages[Name] | Fragment<Name>,
  length: number,
): string {
  return withWritten(
    (writer) => writeAnyOf(writer, type, value, 'grpc'),
    (bytes) => hexHash(bytes, length),
  );
}

/** The first bytes of the SHA-256. The digits are a text of their own, not a slice that would keep a longer one. */
export function hexHash(bytes: Uint8Array | string, length = 16): string {
  return hash('sha256', bytes, 'buffer').toString('hex', 0, length);
}

export function encode<Name extends keyof AllMessages>(
  type: Name,
  value: AllMessages[Name],
  delivery: Delivery = 'grpc',
): Buffer {
  return withWriter((writer) => writeMessage(writer, type, value, delivery));
}

/** The message in an Any, as resources are sent. */
export function encodeAny<Name extends MessageName>(
  type: Name,
  value: Messages[Name] | Fragment<Name>,
  delivery: Delivery = 'grpc',
): Buffer {
  return withWriter((writer) => writeAnyOf(writer, type, value, delivery));
}

/** Returns true where a message has a field that is set. */
export function hasFields(message: object): boolean {
  return Object.values(message).some((content) => content !== undefined);
}

function writeAnyOf(writer: WireWriter, type: string, value: object, delivery: Delivery): void {
  const before = writer.length;
  writeMessage(writer, type, value, delivery);
  const size = writer.length - before;
  if (size > 0) {
    writer.varint(size);
    writer.varint(0x12);
  }
  writer.text(TYPE_URL_PREFIX + type, 1);
}

function writeMessage(writer: WireWriter, type: string, value: unknown, delivery: Delivery): void {
  if (value instanceof Fragment) {
    value.write(writer, delivery);
    return;
  }
  const special = SPECIAL[type];
  if (special) {
    special(writer, value, delivery);
    return;
  }
  if (value === CONFIG_SOURCE) {
    writer.bytes(configSource(delivery));
    return;
  }
  const table = messageTable(type);
  if (!table)
    throw new EncodeError(`${type}: there is no such message in the tables; add it to scripts/envoy/selection.ts`);
  if (typeof value !== 'object' || value === null) throw new EncodeError(`${type}: ${String(value)} is not an object`);
  writeFields(writer, table, value as Fields, delivery);
}

function writeFields(writer: WireWriter, table: MessageTable, value: Fields, delivery: Delivery): void {
  const names = Object.keys(value);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const name = names[index] as string;
    const content = value[name];
    if (content === undefined || name === '@type') continue;
    const field = table.byName.get(name);
    if (!field) throw new EncodeError(`${table.name}: there is no field ${name}`);
    if (field.label === 'one') {
      if (field.hasPresence || !isDefault(content)) writeField(writer, field, content, delivery);
    } else if (field.label === 'list') writeList(writer, field, content, delivery);
    else writeMap(writer, field, content, delivery);
  }
}

/** An empty message is not a default: its presence has a meaning. */
function isDefault(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (value instanceof Uint8Array && value.length === 0);
}

function writeField(writer: WireWriter, field: Field, value: unknown, delivery: Delivery): void {
  const scalar = SCALARS[field.type];
  if (scalar) {
    scalar.write(writer, value, field);
    writer.varint(field.number * 8 + scalar.wire);
    return;
  }
  if (enumTable(field.type)) {
    writer.varint(enumNumber(field, value));
    writer.varint(field.number * 8);
    return;
  }
  const before = writer.length;
  writeMessage(writer, field.type, value, delivery);
  writer.close(field.number, before);
}

function writeList(writer: WireWriter, field: Field, values: unknown, delivery: Delivery): void {
  if (!Array.isArray(values)) throw new EncodeError(`${field.name}: ${typeof values} is not a list`);
  const scalar = SCALARS[field.type];
  const isPacked = (scalar !== undefined && scalar.wire !== 2) || enumTable(field.type) !== undefined;
  if (!isPacked) {
    for (let index = values.length - 1; index >= 0; index -= 1) {
      const item: unknown = values[index];
      if (item instanceof FragmentChunk) writer.bytes(item.entries(field.number, delivery));
      else writeField(writer, field, item, delivery);
    }
    return;
  }
  if (values.length === 0) return;
  const before = writer.length;
  for (let index = values.length - 1; index >= 0; index -= 1) {
    if (scalar) scalar.write(writer, values[index], field);
    else writer.varint(enumNumber(field, values[index]));
  }
  writer.close(field.number, before);
}

/** In the order of the keys, so that equal maps have equal bytes. */
function writeMap(writer: WireWriter, field: Field, value: unknown, delivery: Delivery): void {
  const entries = Object.entries(value as Fields).sort(([left], [right]) => (left < right ? 1 : left > right ? -1 : 0));
  const valueField: Field = { ...field, number: 2, name: field.name, label: 'one' };
  for (const [key, content] of entries) {
    if (content === undefined) continue;
    const before = writer.length;
    writeField(writer, valueField, content, delivery);
    if (field.keyType === 'string') writer.text(key, 1);
    else {
      writer.varint(Number(key));
      writer.varint(8);
    }
    writer.close(field.number, before);
  }
}

function enumNumber(field: Field, value: unknown): number {
  if (typeof value === 'number') return value;
  const number = enumTable(field.type)?.byName.get(String(value));
  if (number === undefined) throw new EncodeError(`${field.name}: ${String(value)} is not a value of ${field.type}`);
  return number;
}

interface Scalar {
  readonly wire: 0 | 1 | 2 | 5;
  write(writer: WireWriter, value: unknown, field: Field): void;
}

const INTEGER: Scalar = {
  wire: 0,
  write(writer, value, field) {
    if (!Number.isInteger(value)) throw new EncodeError(`${field.name}: ${String(value)} is not an integer`);
    writer.varint(value as number);
  },
};

const SCALARS: Readonly<Record<string, Scalar>> = {
  string: {
    wire: 2,
    write(writer, value, field) {
      if (typeof value !== 'string') throw new EncodeError(`${field.name}: ${typeof value} is not text`);
      const before = writer.length;
      writer.characters(value);
      writer.varint(writer.length - before);
    },
  },
  bytes: {
    wire: 2,
    write(writer, value) {
      const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value), 'base64');
      writer.bytes(bytes);
      writer.varint(bytes.length);
    },
  },
  bool: { wire: 0, write: (writer, value) => writer.varint(value === true ? 1 : 0) },
  double: { wire: 1, write: (writer, value) => writer.float64(Number(value)) },
  float: { wire: 5, write: (writer, value) => writer.float32(Number(value)) },
  int32: INTEGER,
  int64: INTEGER,
  uint32: INTEGER,
  uint64: INTEGER,
};

type Special = (writer: WireWriter, value: unknown, delivery: Delivery) => void;

function wrapper(scalar: string): Special {
  const field: Field = {
    number: 1,
    name: 'value',
    type: scalar,
    label: 'one',
    keyType: '',
    hasPresence: false,
    oneof: undefined,
    rules: undefined,
  };
  return (writer, value, delivery) => {
    if (!isDefault(value)) writeField(writer, field, value, delivery);
  };
}

const DURATION = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/;

const SPECIAL: Readonly<Record<string, Special>> = {
  'google.protobuf.Any'(writer, value, delivery) {
    const type = (value as Fields)['@type'];
    if (typeof type !== 'string') throw new EncodeError('google.protobuf.Any: "@type" is missing');
    writeAnyOf(writer, type.slice(TYPE_URL_PREFIX.length), value as Fields, delivery);
  },
  'google.protobuf.Duration'(writer, value) {
    const [, sign = '', seconds = '', fraction = ''] = DURATION.exec(String(value)) ?? [];
    if (seconds === '') throw new EncodeError(`google.protobuf.Duration: ${String(value)} is not like "1.5s"`);
    const factor = sign === '-' ? -1 : 1;
    const nanos = Number(fraction.padEnd(9, '0'));
    if (nanos > 0) {
      writer.varint(nanos * factor);
      writer.varint(0x10);
    }
    if (Number(seconds) > 0) {
      writer.varint(Number(seconds) * factor);
      writer.varint(8);
    }
  },
  'google.protobuf.Empty': () => undefined,
  'google.protobuf.BoolValue': wrapper('bool'),
  'google.protobuf.StringValue': wrapper('string'),
  'google.protobuf.BytesValue': wrapper('bytes'),
  'google.protobuf.UInt32Value': wrapper('uint32'),
  'google.protobuf.UInt64Value': wrapper('uint64'),
  'google.protobuf.Int32Value': wrapper('int32'),
  'google.protobuf.Int64Value': wrapper('int64'),
  'google.protobuf.DoubleValue': wrapper('double'),
  'google.protobuf.FloatValue': wrapper('float'),
  'google.protobuf.Struct': writeStruct,
  'google.protobuf.Value': writeJson,
  'google.protobuf.ListValue': writeJsonList,
};

const sources = new Map<Delivery, Uint8Array>();

function configSource(delivery: Delivery): Uint8Array {
  let bytes = sources.get(delivery);
  if (!bytes) {
    const api: ApiConfigSource = {
      api_type: delivery === 'delta' ? 'DELTA_GRPC' : 'GRPC',
      transport_api_version: 'V3',
      grpc_services: [{ envoy_grpc: { cluster_name: XDS_CLUSTER, authority: XDS_CLUSTER } }],
    };
    const source: ConfigSource = delivery === 'ads' ? { ads: {} } : { api_config_source: api };
    bytes = encode('envoy.config.core.v3.ConfigSource', { ...source, resource_api_version: 'V3' });
    sources.set(delivery, bytes);
  }
  return bytes;
}
