// Kubernetes protobuf bodies: four bytes of magic, then a runtime.Unknown that names kind and version and holds the message. kubectl sends
// them for objects that it creates itself (`create deployment`, `auth can-i`), and tries no other form when they are refused. They become
// the JSON that the same client would have sent; answers are JSON.
import { formatDurationNanos, formatTime } from '@capstan/kube';
import { WireError, WireReader } from '@capstan/kube/protobuf';
import { badRequest, tooManyValues, unsupportedMediaType } from '../errors.ts';
import { type JsonObject, setOwn } from '../json/copy.ts';
import { MAX_DEPTH, MAX_VALUES, valueLimitOf } from '../json/value-limits.ts';
import { BARE_LIST, type MessageField, sharedMessages } from './messages.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

const MAGIC = [0x6b, 0x38, 0x73, 0x00];

export interface ProtobufDecoder {
  /** The object in the bytes, as JSON has it. */
  decode(bytes: Uint8Array): JsonObject;
}

export function createProtobufDecoder(): ProtobufDecoder {
  return {
    decode(bytes) {
      try {
        return unwrap(bytes);
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

function unwrap(bytes: Uint8Array): JsonObject {
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw badRequest('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  let apiVersion = '';
  let kind = '';
  let raw = new WireReader(new Uint8Array());
  for (const unknown = new WireReader(bytes, MAGIC.length); unknown.next(); ) {
    if (!unknown.isBytes) continue;
    if (unknown.number === 2) raw = unknown.message();
    if (unknown.number !== 1) continue;
    for (const type = unknown.message(); type.next(); ) {
      if (!type.isBytes) continue;
      if (type.number === 1) apiVersion = type.text();
      if (type.number === 2) kind = type.text();
    }
  }
  const message = sharedMessages().ofKind(apiVersion, kind) ?? OPTIONS[kind];
  // Custom resources have no protobuf form.
  if (message === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  return readMessage(raw, message, { values: 0, depth: 0 }, { kind, apiVersion });
}

/** Options belong to every group: clients name the one that they talk to. */
const OPTIONS: Readonly<Record<string, string>> = { DeleteOptions: 'meta.v1.DeleteOptions' };

/** The size of a body so far: two bytes may stand for a whole object. */
interface Size {
  values: number;
  depth: number;
}

function count(size: Size, values: number): void {
  size.values += values;
  if (size.values > MAX_VALUES) throw tooManyValues(MAX_VALUES);
}

function readMessage(wire: WireReader, message: string, size: Size, object: JsonObject = {}): JsonObject {
  const fields = sharedMessages().fields(message);
  size.depth += 1;
  if (size.depth > MAX_DEPTH) throw tooDeep();
  while (wire.next()) {
    count(size, 1);
    const known = fields?.get(wire.number);
    // A newer client may know more than we do.
    if (known) readField(object, known, wire, size);
  }
  size.depth -= 1;
  return object;
}

function readField(
  object: JsonObject,
  { name, label, type, leavesOutZero }: MessageField,
  wire: WireReader,
  size: Size,
): void {
  if (name === undefined) {
    readMessage(wire.message(), type, size, object);
    return;
  }
  switch (label) {
    case 'list': {
      const list = (object[name] ??= []) as unknown[];
      if (!wire.isBytes || !INTEGERS.has(type)) list.push(readValue(type, wire, size));
      else {
        for (const integer of wire.packed()) {
          count(size, 1);
          list.push(integer);
        }
      }
      return;
    }
    case 'map': {
      const [key, value] = readEntry(type, wire.message(), size);
      setOwn((object[name] ??= {}) as JsonObject, key, value);
      return;
    }
    case 'one': {
      const value = readValue(type, wire, size);
      const isUnset = value === undefined || (leavesOutZero && (value === '' || value === 0 || value === false));
      if (isUnset) delete object[name];
      else object[name] = value;
    }
  }
}

function readEntry(type: string, entry: WireReader, size: Size): [string, unknown] {
  let key = '';
  let value: unknown;
  while (entry.next()) {
    if (entry.number === 1) key = entry.text();
    if (entry.number === 2) value = readValue(type, entry, size);
  }
  return [key, value ?? emptyValue(type, size)];
}

/** The value of a map's entry that was sent without one. */
function emptyValue(type: string, size: Size): unknown {
  const empty = new WireReader(Uint8Array.of(8 + 2, 0));
  empty.next();
  return readValue(type, empty, size) ?? null;
}

const INTEGERS = new Set(['int32', 'int64', 'uint32', 'uint64']);

function readValue(type: string, wire: WireReader, size: Size): unknown {
  switch (type) {
    case 'string':
      return wire.text();
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return wire.integer();
    case 'bool':
      return wire.integer() !== 0;
    case 'bytes':
      return wire.base64();
    case 'double':
      return wire.double();
    default: {
      const special = SPECIAL[type];
      if (special) return special(wire.message(), wire.isEmpty, size);
      return readPlain(wire.message(), type, size);
    }
  }
}

function readPlain(wire: WireReader, type: string, size: Size): unknown {
  const value = readMessage(wire, type, size);
  if (sharedMessages().isList(type)) return value[BARE_LIST] ?? [];
  return (CHOICES[type] ?? itself)(value);
}

const itself = (value: JsonObject): unknown => value;

/** Messages that JSON shows as one of their fields. */
const CHOICES: Readonly<Record<string, (value: JsonObject) => unknown>> = {
  'apiextensions.v1.JSONSchemaPropsOrArray': ({ schema, jSONSchemas }) => jSONSchemas ?? schema,
  'apiextensions.v1.JSONSchemaPropsOrBool': ({ schema, allows }) => schema ?? allows === true,
  'apiextensions.v1.JSONSchemaPropsOrStringArray': ({ schema, property }) => property ?? schema,
};

/** Messages that JSON shows as something else; undefined where the field is not set. */
const SPECIAL: Readonly<Record<string, (message: WireReader, isEmpty: boolean, size: Size) => unknown>> = {
  'meta.v1.Time': (message, isEmpty) => (isEmpty ? undefined : formatTime(Number(integersOf(message)[1]) * 1000)),
  'meta.v1.MicroTime': (message, isEmpty) => {
    if (isEmpty) return undefined;
    const [, seconds, nanos] = integersOf(message);
    const micros = String(nanos / 1000n).padStart(6, '0');
    return formatTime(Number(seconds) * 1000).replace(/Z$/, `.${micros}Z`);
  },
  'meta.v1.Duration': (message) => formatDurationNanos(integersOf(message)[1]),
  'meta.v1.FieldsV1': rawJson,
  'pkg.runtime.RawExtension': rawJson,
  'apiextensions.v1.JSON': rawJson,
  'api.resource.Quantity': (message) => textOf(message, 1) || '0',
  'util.intstr.IntOrString': (message) => {
    let [type, integer, text] = [0, 0, ''];
    while (message.next()) {
      if (message.number === 1) type = message.integer();
      if (message.number === 2) integer = message.integer();
      if (message.number === 3) text = message.text();
    }
    return type === 1 ? text : integer;
  },
};

/** The first two fields of a message of integers, under their numbers. */
function integersOf(message: WireReader): [undefined, bigint, bigint] {
  const integers: [undefined, bigint, bigint] = [undefined, 0n, 0n];
  while (message.next()) {
    if (message.number === 1) integers[1] = message.bigint();
    if (message.number === 2) integers[2] = message.bigint();
  }
  return integers;
}

function textOf(message: WireReader, number: number): string {
  while (message.next()) if (message.number === number && message.isBytes) return message.text();
  return '';
}

function rawJson(message: WireReader, _isEmpty: boolean, size: Size): unknown {
  const text = textOf(message, 1);
  if (text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    throw new WireError('a raw extension does not hold JSON');
  }
  const limit = valueLimitOf(value, MAX_VALUES - size.values);
  if (limit === 'values') throw tooManyValues(MAX_VALUES);
  if (limit === 'depth') throw tooDeep();
  return value;
}

const tooDeep = () => badRequest(`the body of the request is nested more than ${MAX_DEPTH} levels deep`);
