// Answers in protobuf: the same tables as for bodies, read the other way round. A message is written from its end, so that the
// length of what is inside is known when it is needed.
import { parseDurationNanos, parseTime } from '@capstan/kube';
import { isObject, type JsonObject, ownValue } from '../json/copy.ts';
import { BackwardWriter } from './backward-writer.ts';
import { type MessageField, type Messages, sharedMessages } from './messages.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** Whether objects of an `apiVersion` have a protobuf form at all. */
export const hasProtobuf = (apiVersion: string): boolean => sharedMessages().hasVersion(apiVersion);

/** The object as Kubernetes' clients read it, behind the four bytes of magic; undefined: its kind has no such form. */
export function encodeObject(object: object): Uint8Array | undefined {
  const { kind, apiVersion } = object as { kind?: unknown; apiVersion?: unknown };
  const tables = sharedMessages();
  const message = tables.ofKind(String(apiVersion), String(kind));
  if (message === undefined) return undefined;
  const out = new BackwardWriter();
  // runtime.Unknown: what it is, the message, and two empty texts that every client writes.
  out.text('', 4);
  out.text('', 3);
  out.nested(2, () => writeMessage(out, object as JsonObject, message, tables));
  out.nested(1, () => {
    out.text(String(kind), 2);
    out.text(String(apiVersion), 1);
  });
  out.bytes(MAGIC);
  return out.result();
}

/** An event of a watch, with its length in front of it. */
export function encodeEvent(type: string, object: object): Uint8Array | undefined {
  const whole = encodeObject(object);
  if (!whole) return undefined;
  const out = new BackwardWriter();
  out.nested(2, () => out.content(whole, 1));
  out.text(type, 1);
  const event = out.result();
  const framed = Buffer.allocUnsafe(4 + event.length);
  framed.writeUInt32BE(event.length);
  framed.set(event, 4);
  return framed;
}

function writeMessage(out: BackwardWriter, object: JsonObject, message: string, tables: Messages): void {
  for (const [number, field] of tables.reversed(message)) {
    if (field.name === undefined) out.nested(number, () => writeMessage(out, object, field.type, tables));
    else writeField(out, number, field, ownValue(object, field.name), tables);
  }
}

function writeField(
  out: BackwardWriter,
  number: number,
  { label, type }: MessageField,
  value: unknown,
  tables: Messages,
): void {
  if (value === undefined || value === null) return;
  if (label === 'list') {
    if (Array.isArray(value)) for (const item of value.toReversed()) writeValue(out, number, type, item, tables);
    return;
  }
  if (label === 'map') {
    if (!isObject(value)) return;
    for (const [key, part] of Object.entries(value).reverse()) {
      out.nested(number, () => {
        writeValue(out, 2, type, part, tables);
        out.text(key, 1);
      });
    }
    return;
  }
  writeValue(out, number, type, value, tables);
}

function writeValue(out: BackwardWriter, number: number, type: string, value: unknown, tables: Messages): void {
  switch (type) {
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      out.integer(value as number, number);
      return;
    case 'bool':
      out.integer(value === true ? 1 : 0, number);
      return;
    case 'string':
      out.text(textOf(value), number);
      return;
    case 'bytes':
      out.content(Buffer.from(textOf(value), 'base64'), number);
      return;
    case 'double':
      out.double(Number(value), number);
      return;
    default:
      out.nested(number, () => (SPECIAL[type] ?? writePlain)(out, value, type, tables));
  }
}

/** A null in a map of texts is the empty one; a quantity may be a number. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

function writePlain(out: BackwardWriter, value: unknown, type: string, tables: Messages): void {
  const [only] = tables.reversed(type);
  if (only && tables.isList(type)) writeField(out, only[0], only[1], value, tables);
  else if (isObject(value)) writeMessage(out, value, type, tables);
}

type Write = (out: BackwardWriter, value: unknown, type: string, tables: Messages) => void;

const rawJson: Write = (out, value) => out.text(JSON.stringify(value), 1);

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';

const schemaAt =
  (number: number): Write =>
  (out, value, _, tables) =>
    writeValue(out, number, SCHEMA, value, tables);

const SPECIAL: Readonly<Record<string, Write>> = {
  'meta.v1.Time': (out, value) => writeTime(out, String(value), 0),
  'meta.v1.MicroTime': (out, value) => writeTime(out, String(value), 6),
  'meta.v1.Duration': (out, value) => out.integer(parseDurationNanos(String(value)), 1),
  'meta.v1.FieldsV1': rawJson,
  'pkg.runtime.RawExtension': rawJson,
  'apiextensions.v1.JSON': rawJson,
  'api.resource.Quantity': (out, value) => out.text(textOf(value), 1),
  'util.intstr.IntOrString': (out, value) => {
    const isText = typeof value === 'string';
    out.text(isText ? value : '', 3);
    out.integer(isText ? 0 : (value as number), 2);
    out.integer(isText ? 1 : 0, 1);
  },
  [`${SCHEMA}OrArray`]: (out, value, type, tables) => {
    if (!Array.isArray(value)) schemaAt(1)(out, value, type, tables);
    else for (const item of value.toReversed()) writeValue(out, 2, SCHEMA, item, tables);
  },
  [`${SCHEMA}OrBool`]: (out, value, type, tables) => {
    if (isObject(value)) schemaAt(2)(out, value, type, tables);
    out.integer(value === false ? 0 : 1, 1);
  },
  [`${SCHEMA}OrStringArray`]: (out, value, type, tables) => {
    if (!Array.isArray(value)) schemaAt(1)(out, value, type, tables);
    else for (const item of value.toReversed()) out.text(String(item), 2);
  },
};

/** Seconds since 1970, and nanoseconds of as many digits as the type has. */
function writeTime(out: BackwardWriter, text: string, digits: number): void {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? '';
  out.integer(Number(fraction.slice(0, digits).padEnd(9, '0')), 2);
  out.integer(Math.floor(parseTime(text.replace(/\.\d+/, '')) / 1000), 1);
}
