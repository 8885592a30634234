// Kubernetes protobuf bodies: four bytes of magic, then a runtime.Unknown that names kind and version and holds the message.
// kubectl sends them for what it creates itself (`create deployment`, `auth can-i`) and asks for no other form when they are
// refused. They become the JSON that the same client would have sent; answers are JSON.
import { formatDurationNanos, formatTime } from '@capstan/kube';
import { badRequest, unsupportedMediaType } from '../errors.ts';
import type { JsonObject } from '../json/copy.ts';
import { BARE_LIST, loadMessages, type MessageField, type Messages } from './messages.ts';
import { readFields, WireError, type WireField } from './wire.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

const MAGIC = [0x6b, 0x38, 0x73, 0x00];

export interface ProtobufDecoder {
  /** The object in the bytes, as JSON has it. */
  decode(bytes: Uint8Array): JsonObject;
}

export function createProtobufDecoder(): ProtobufDecoder {
  let tables: Messages | undefined;
  return {
    decode(bytes) {
      tables ??= loadMessages();
      try {
        return unwrap(bytes, tables);
      } catch (error) {
        if (error instanceof WireError)
          throw badRequest(`the body is not a Kubernetes protobuf object: proto: ${error.message}`);
        // A schema holds schemas: the stack ends before the limit of a body does.
        if (error instanceof RangeError) throw badRequest('the body is nested too deeply');
        throw error;
      }
    },
  };
}

function unwrap(bytes: Uint8Array, tables: Messages): JsonObject {
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw badRequest('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  let apiVersion = '';
  let kind = '';
  let raw: Uint8Array = new Uint8Array();
  for (const { number, value } of readFields(bytes.subarray(MAGIC.length))) {
    if (typeof value === 'bigint') continue;
    if (number === 2) raw = value;
    if (number !== 1) continue;
    for (const part of readFields(value)) {
      if (typeof part.value === 'bigint') continue;
      if (part.number === 1) apiVersion = textOf(part.value);
      if (part.number === 2) kind = textOf(part.value);
    }
  }
  const message = tables.ofKind(apiVersion, kind) ?? OPTIONS[kind];
  // Custom resources have no protobuf form.
  if (message === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  return { kind, apiVersion, ...readMessage(raw, message, tables) };
}

/** Options belong to every group: clients name the one that they talk to. */
const OPTIONS: Readonly<Record<string, string>> = { DeleteOptions: 'meta.v1.DeleteOptions' };

function readMessage(bytes: Uint8Array, message: string, tables: Messages): JsonObject {
  const fields = tables.fields(message);
  const object: JsonObject = {};
  for (const field of readFields(bytes)) {
    const known = fields?.get(field.number);
    // A newer client may know more than we do.
    if (known) put(object, known, field, tables);
  }
  return object;
}

function put(object: JsonObject, field: MessageField, wire: WireField, tables: Messages): void {
  const { name, label, type, leavesOutZero } = field;
  if (name === undefined) {
    Object.assign(object, readMessage(bytesOf(wire), type, tables));
    return;
  }
  switch (label) {
    case 'list': {
      const list = (object[name] ?? []) as unknown[];
      list.push(...itemsOf(type, wire, tables));
      object[name] = list;
      return;
    }
    case 'map': {
      const entries = (object[name] ?? {}) as JsonObject;
      const [key, value] = entryOf(type, wire, tables);
      Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
      object[name] = entries;
      return;
    }
    case 'one': {
      const value = valueOf(type, wire, tables);
      const isUnset = value === undefined || (leavesOutZero && (value === '' || value === 0 || value === false));
      if (isUnset) delete object[name];
      else object[name] = value;
    }
  }
}

// Numbers may come packed: many in one field.
function itemsOf(type: string, wire: WireField, tables: Messages): unknown[] {
  if (!INTEGERS.has(type) || typeof wire.value === 'bigint') return [valueOf(type, wire, tables)];
  const packed = wire.value;
  // Read as the fields of a message would be, each number behind a tag of its own.
  const framed = new Uint8Array(packed.length * 2);
  let length = 0;
  let isStart = true;
  for (const byte of packed) {
    if (isStart) {
      framed[length] = 8;
      length += 1;
    }
    framed[length] = byte;
    length += 1;
    isStart = byte < 0x80;
  }
  return [...readFields(framed.subarray(0, length))].map((one) => valueOf(type, one, tables));
}

function entryOf(type: string, wire: WireField, tables: Messages): [string, unknown] {
  let key = '';
  let value: unknown = valueOf(type, EMPTY, tables) ?? null;
  for (const part of readFields(bytesOf(wire))) {
    if (part.number === 1) key = textOf(bytesOf(part));
    if (part.number === 2) value = valueOf(type, part, tables) ?? null;
  }
  return [key, value];
}

const EMPTY: WireField = { number: 2, value: new Uint8Array(), isFixed: false };
const INTEGERS = new Set(['int32', 'int64', 'uint32', 'uint64']);

function valueOf(type: string, wire: WireField, tables: Messages): unknown {
  if (INTEGERS.has(type)) return typeof wire.value === 'bigint' ? Number(BigInt.asIntN(64, wire.value)) : 0;
  switch (type) {
    case 'string':
      return textOf(bytesOf(wire));
    case 'bool':
      return typeof wire.value === 'bigint' && wire.value !== 0n;
    case 'bytes':
      return Buffer.from(bytesOf(wire)).toString('base64');
    case 'double':
      return doubleOf(wire.value);
    default:
      return (SPECIAL[type] ?? ((bytes: Uint8Array) => plainMessage(bytes, type, tables)))(bytesOf(wire));
  }
}

function plainMessage(bytes: Uint8Array, type: string, tables: Messages): unknown {
  const value = readMessage(bytes, type, tables);
  if (tables.isList(type)) return value[BARE_LIST] ?? [];
  return (CHOICES[type] ?? itself)(value);
}

const itself = (value: JsonObject): unknown => value;

/** Messages that JSON shows as one of their fields. */
const CHOICES: Readonly<Record<string, (value: JsonObject) => unknown>> = {
  'apiextensions.v1.JSONSchemaPropsOrArray': ({ schema, jSONSchemas }) => jSONSchemas ?? schema,
  'apiextensions.v1.JSONSchemaPropsOrBool': ({ schema, allows }) => schema ?? allows === true,
  'apiextensions.v1.JSONSchemaPropsOrStringArray': ({ schema, property }) => property ?? schema,
};

/** Messages that JSON shows as something else; undefined where nothing is said. */
const SPECIAL: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  'meta.v1.Time': (bytes) => (bytes.length === 0 ? undefined : formatTime(secondsOf(bytes) * 1000)),
  'meta.v1.MicroTime': (bytes) =>
    bytes.length === 0 ? undefined : formatTime(secondsOf(bytes) * 1000).replace(/Z$/, `.${microsOf(bytes)}Z`),
  'meta.v1.Duration': (bytes) => formatDurationNanos(numbersOf(bytes).get(1) ?? 0n),
  'meta.v1.FieldsV1': rawJson,
  'pkg.runtime.RawExtension': rawJson,
  'apiextensions.v1.JSON': rawJson,
  'api.resource.Quantity': (bytes) => firstText(bytes, 1) || '0',
  'util.intstr.IntOrString': (bytes) => {
    const numbers = numbersOf(bytes);
    return numbers.get(1) === 1n ? firstText(bytes, 3) : Number(BigInt.asIntN(64, numbers.get(2) ?? 0n));
  },
};

const secondsOf = (bytes: Uint8Array): number => Number(BigInt.asIntN(64, numbersOf(bytes).get(1) ?? 0n));

/** Six digits. */
function microsOf(bytes: Uint8Array): string {
  return String((numbersOf(bytes).get(2) ?? 0n) / 1000n).padStart(6, '0');
}

function numbersOf(bytes: Uint8Array): Map<number, bigint> {
  const numbers = new Map<number, bigint>();
  for (const { number, value } of readFields(bytes)) if (typeof value === 'bigint') numbers.set(number, value);
  return numbers;
}

function firstText(bytes: Uint8Array, wanted: number): string {
  for (const { number, value } of readFields(bytes)) {
    if (number === wanted && typeof value !== 'bigint') return textOf(value);
  }
  return '';
}

function rawJson(bytes: Uint8Array): unknown {
  const text = firstText(bytes, 1);
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new WireError('a raw extension does not hold JSON');
  }
}

function doubleOf(value: bigint | Uint8Array): number {
  if (typeof value !== 'bigint') return 0;
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value);
  return view.getFloat64(0);
}

function bytesOf({ number, value }: WireField): Uint8Array {
  if (typeof value === 'bigint') throw new WireError(`wrong wireType for field ${number}`);
  return value;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new WireError('a string is not UTF-8');
  }
}
