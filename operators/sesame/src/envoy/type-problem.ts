// Checks that a value is a message of its type, before it is encoded: the encoder takes values of our own code, and writes some wrong ones
// (a text where a flag belongs) without an error. Values of users are checked here first.
import { formatPointer, isPlain } from '@capstan/kube';
import { CONFIG_SOURCE } from './delivery.ts';
import { enumTable, type Field, messageTable, TYPE_URL_PREFIX } from './tables.ts';

export interface TypeProblem {
  /** As in JSON Patch: `/filters/0/typed_config`. */
  readonly pointer: string;
  readonly problem: string;
}

/** Returns the first value that is not of its type; undefined when all are. */
export function typeProblem(type: string, value: unknown): TypeProblem | undefined {
  return check(type, value, []);
}

type Path = readonly string[];

function check(type: string, value: unknown, path: Path): TypeProblem | undefined {
  if (value === CONFIG_SOURCE) return undefined;
  const scalar = SCALARS[type];
  if (scalar) return scalar.accepts(value) ? undefined : found(path, `must be ${scalar.name} (${shown(value)})`);
  const values = enumTable(type);
  if (values) {
    if (values.byName.has(String(value)) || values.byNumber.has(value as number)) return undefined;
    return found(path, `must be one of ${[...values.byName.keys()].slice(0, 12).join(', ')} (${shown(value)})`);
  }
  if (!isMessage(value)) return found(path, `must be an object (${shown(value)})`);
  if (type === 'google.protobuf.Struct' || type === 'google.protobuf.Empty') return undefined;
  if (type === 'google.protobuf.Any') return checkAny(value, path);
  const table = messageTable(type);
  if (!table) return found(path, `has the type ${type}, which is not supported`);
  for (const [name, content] of Object.entries(value)) {
    if (name === '@type' || content === undefined) continue;
    const field = table.byName.get(name);
    const at = [...path, name];
    const problem = field ? checkField(field, content, at) : found(at, `is not a field of ${type}`);
    if (problem) return problem;
  }
  return undefined;
}

function checkAny(value: Readonly<Record<string, unknown>>, path: Path): TypeProblem | undefined {
  const { '@type': url, ...content } = value;
  if (typeof url !== 'string' || !url.startsWith(TYPE_URL_PREFIX))
    return found([...path, '@type'], `must be the type of the value, such as ${TYPE_URL_PREFIX}NAME (${shown(url)})`);
  const type = url.slice(TYPE_URL_PREFIX.length);
  if (!messageTable(type)) return found([...path, '@type'], `is not a type that Sesame knows (${shown(type)})`);
  return check(type, content, path);
}

function checkField(field: Field, value: unknown, path: Path): TypeProblem | undefined {
  if (field.label === 'one') return check(field.type, value, path);
  if (field.label === 'list') {
    if (!Array.isArray(value)) return found(path, `must be a list (${shown(value)})`);
    return first(value.entries(), ([index, item]) => check(field.type, item, [...path, String(index)]));
  }
  if (!isMessage(value)) return found(path, `must be an object (${shown(value)})`);
  return first(Object.entries(value), ([name, item]) => check(field.type, item, [...path, name]));
}

function first<Item>(
  items: Iterable<Item>,
  problemOf: (item: Item) => TypeProblem | undefined,
): TypeProblem | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem) return problem;
  }
  return undefined;
}

function isMessage(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value);
}

function found(path: Path, problem: string): TypeProblem {
  return { pointer: formatPointer(path), problem };
}

/** A value in a message: short. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

interface Scalar {
  readonly name: string;
  accepts(value: unknown): boolean;
}

const TEXT: Scalar = { name: 'a text', accepts: (value) => typeof value === 'string' };
const FLAG: Scalar = { name: 'true or false', accepts: (value) => typeof value === 'boolean' };
const NUMBER: Scalar = { name: 'a number', accepts: (value) => typeof value === 'number' && Number.isFinite(value) };
const BYTES: Scalar = {
  name: 'bytes in base64',
  accepts: (value) =>
    value instanceof Uint8Array || (typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value)),
};
const DURATION: Scalar = {
  name: 'a duration in seconds, such as "1.5s"',
  accepts: (value) => typeof value === 'string' && /^\d{1,12}(\.\d{1,9})?s$/.test(value),
};

function integer(least: number, most: number): Scalar {
  return {
    name: `an integer from ${least} to ${most}`,
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  };
}

const INT32 = integer(-2_147_483_648, 2_147_483_647);
const INT64 = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const UINT32 = integer(0, 4_294_967_295);
const UINT64 = integer(0, Number.MAX_SAFE_INTEGER);

const SCALARS: Readonly<Record<string, Scalar>> = {
  string: TEXT,
  bytes: BYTES,
  bool: FLAG,
  double: NUMBER,
  float: NUMBER,
  int32: INT32,
  int64: INT64,
  uint32: UINT32,
  uint64: UINT64,
  'google.protobuf.StringValue': TEXT,
  'google.protobuf.BytesValue': BYTES,
  'google.protobuf.BoolValue': FLAG,
  'google.protobuf.DoubleValue': NUMBER,
  'google.protobuf.FloatValue': NUMBER,
  'google.protobuf.Int32Value': INT32,
  'google.protobuf.Int64Value': INT64,
  'google.protobuf.UInt32Value': UINT32,
  'google.protobuf.UInt64Value': UINT64,
  'google.protobuf.Duration': DURATION,
  'google.protobuf.Value': { name: 'a value', accepts: () => true },
  'google.protobuf.ListValue': { name: 'a list', accepts: Array.isArray },
};
