// Answers in protobuf: the same tables as for bodies, in the other direction. A message is written from its end, so that the length of each
// inner message is known when it is needed.
import { parseDurationNanos, parseTime } from '@capstan/kube';
import { WireWriter } from '@capstan/kube/protobuf';
import { isObject, type JsonObject } from '../json/copy.ts';
import { type MessageField, sharedMessages } from './messages.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** Whether objects of an `apiVersion` have a protobuf form at all. */
export const hasProtobuf = (apiVersion: string): boolean => sharedMessages().hasVersion(apiVersion);

/** The object as Kubernetes' clients read it, behind the four bytes of magic; undefined: its kind has no such form. */
export function encodeObject(object: object): Uint8Array | undefined {
  const encoding = encodeInSteps(object);
  for (;;) {
    const { done, value } = encoding.next();
    if (done) return value?.result();
  }
}

/** The same in steps of some hundred items of a list, and in pieces: the work of a long list can be interrupted. */
export function* encodeInSteps(object: object): Generator<void, WireWriter | undefined, void> {
  const { kind, apiVersion } = object as { kind?: unknown; apiVersion?: unknown };
  const message = sharedMessages().ofKind(String(apiVersion), String(kind));
  if (message === undefined) return undefined;
  const out = new WireWriter();
  // runtime.Unknown: its type, the message, and two empty texts that every client writes.
  out.text('', 4);
  out.text('', 3);
  const messageEnd = out.length;
  for (const field of fieldsOf(message)) {
    const value = (object as JsonObject)[field.name ?? ''];
    if (field.label !== 'list' || !Array.isArray(value)) writeField(out, field, object as JsonObject);
    else
      for (let index = value.length - 1; index >= 0; index -= 1) {
        field.write(out, value[index], field.number);
        if (index > 0 && index % STEP_ITEMS === 0) yield;
      }
  }
  out.close(2, messageEnd);
  const typeEnd = out.length;
  out.text(String(kind), 2);
  out.text(String(apiVersion), 1);
  out.close(1, typeEnd);
  out.bytes(MAGIC);
  return out;
}

const STEP_ITEMS = 200;

/** An event of a watch, with its length in front of it. */
export function encodeEvent(type: string, object: object): Uint8Array | undefined {
  const whole = encodeObject(object);
  if (!whole) return undefined;
  const out = new WireWriter();
  out.content(whole, 1);
  out.close(2, 0);
  out.text(type, 1);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(out.length);
  out.bytes(length);
  return out.result();
}

/** Writes a value as the content of a field. */
type Write = (out: WireWriter, value: unknown, number: number) => void;

interface WrittenField extends MessageField {
  number: number;
  write: Write;
}

const fields = new Map<string, readonly WrittenField[]>();

/** The fields of a message from the last to the first, with their writers. */
function fieldsOf(message: string): readonly WrittenField[] {
  let known = fields.get(message);
  if (!known) {
    const byNumber = [...(sharedMessages().fields(message) ?? [])].toSorted(([a], [b]) => b - a);
    known = byNumber.map(([number, field]) => ({ ...field, number, write: SCALARS[field.type] ?? nested(field.type) }));
    fields.set(message, known);
  }
  return known;
}

function writeMessage(out: WireWriter, object: JsonObject, message: string): void {
  for (const field of fieldsOf(message)) writeField(out, field, object);
}

function writeField(out: WireWriter, { name, label, type, number, write }: WrittenField, object: JsonObject): void {
  if (name === undefined) {
    const end = out.length;
    writeMessage(out, object, type);
    out.close(number, end);
    return;
  }
  // No field has the name of something that every object inherits.
  writeLabelled(out, label, object[name], number, write);
}

function writeLabelled(
  out: WireWriter,
  label: MessageField['label'],
  value: unknown,
  number: number,
  write: Write,
): void {
  if (value === undefined || value === null) return;
  if (label === 'one') write(out, value, number);
  else if (label === 'list') {
    if (Array.isArray(value))
      for (let index = value.length - 1; index >= 0; index -= 1) write(out, value[index], number);
  } else if (isObject(value)) {
    const keys = Object.keys(value);
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const key = keys[index] ?? '';
      const end = out.length;
      write(out, value[key], 2);
      out.text(key, 1);
      out.close(number, end);
    }
  }
}

const integer: Write = (out, value, number) => out.integer(value as number, number);

const SCALARS: Readonly<Record<string, Write>> = {
  int32: integer,
  int64: integer,
  uint32: integer,
  uint64: integer,
  bool: (out, value, number) => out.integer(value === true ? 1 : 0, number),
  string: (out, value, number) => out.text(textOf(value), number),
  bytes: (out, value, number) => out.content(Buffer.from(textOf(value), 'base64'), number),
  double: (out, value, number) => out.double(Number(value), number),
};

/** A value that is a message of its own. */
function nested(type: string): Write {
  const content = SPECIAL[type] ?? ((out, value) => writePlain(out, value, type));
  return (out, value, number) => {
    const end = out.length;
    content(out, value);
    out.close(number, end);
  };
}

/** A null in a map of texts is the empty one; a quantity may be a number. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

function writePlain(out: WireWriter, value: unknown, type: string): void {
  const [only] = fieldsOf(type);
  if (only && sharedMessages().isList(type)) writeLabelled(out, only.label, value, only.number, only.write);
  else if (isObject(value)) writeMessage(out, value, type);
}

type WriteContent = (out: WireWriter, value: unknown) => void;

const rawJson: WriteContent = (out, value) => out.text(JSON.stringify(value), 1);

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';
const writeSchema: Write = (out, value, number) => {
  const end = out.length;
  writePlain(out, value, SCHEMA);
  out.close(number, end);
};

const SPECIAL: Readonly<Record<string, WriteContent>> = {
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
  [`${SCHEMA}OrArray`]: (out, value) => {
    if (Array.isArray(value)) writeLabelled(out, 'list', value, 2, writeSchema);
    else writeSchema(out, value, 1);
  },
  [`${SCHEMA}OrBool`]: (out, value) => {
    if (isObject(value)) writeSchema(out, value, 2);
    out.integer(value === false ? 0 : 1, 1);
  },
  [`${SCHEMA}OrStringArray`]: (out, value) => {
    if (Array.isArray(value)) writeLabelled(out, 'list', value, 2, (to, item, number) => to.text(String(item), number));
    else writeSchema(out, value, 1);
  },
};

/** Seconds since 1970, and nanoseconds of as many digits as the type has. */
function writeTime(out: WireWriter, text: string, digits: number): void {
  const fraction = text.length === WHOLE_SECONDS ? '' : (/\.(\d+)/.exec(text)?.[1] ?? '');
  out.integer(Number(fraction.slice(0, digits).padEnd(9, '0')), 2);
  // Stored times have been checked. JavaScript's own parser takes a tenth of the time.
  const whole = fraction === '' ? text : text.replace(/\.\d+/, '');
  const ms = whole.length === WHOLE_SECONDS ? Date.parse(whole) : Number.NaN;
  out.integer(Math.floor((Number.isNaN(ms) ? parseTime(whole) : ms) / 1000), 1);
}

const WHOLE_SECONDS = '2006-01-02T15:04:05Z'.length;
