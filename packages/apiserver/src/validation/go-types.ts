// The types of a body, checked as Go's decoder does it and reported in its words: the innermost struct, the path from the root
// (without indexes), and the type that was wanted.
import { type BuiltinSchema, InvalidValueError, parseQuantity, parseTime } from '@capstan/kube';
import { isObject } from '../json/copy.ts';

type Schemas = ReadonlyMap<string, BuiltinSchema>;

/** Returns the problem of the types of a value, or undefined. Null is empty, and fits everywhere. */
export function typeProblem(schemas: Schemas, definition: string, value: unknown): string | undefined {
  // A value that its own type refuses ends the decoding at once; of wrong types the first is reported when all is read.
  let soft: string | undefined;
  const mismatch = (text: string) => {
    soft ??= text;
  };
  const hard = structProblem({ schemas, mismatch }, definition, value, '');
  return hard ?? soft;
}

interface Reading {
  schemas: Schemas;
  /** Notes a wrong type, after which reading goes on. */
  mismatch(text: string): void;
}

function structProblem(reading: Reading, definition: string, value: unknown, path: string): string | undefined {
  const { schemas } = reading;
  const schema = schemas.get(definition);
  const properties = schema?.properties;
  if (!properties || !isObject(value)) return undefined;
  const struct = definition.slice(definition.lastIndexOf('.') + 1);
  for (const [field, part] of Object.entries(value)) {
    const known = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (!known) continue;
    const at = path === '' ? field : `${path}.${field}`;
    const problem = valueProblem(reading, known, part, struct, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem(
  reading: Reading,
  schema: BuiltinSchema,
  value: unknown,
  struct: string,
  path: string,
): string | undefined {
  if (value === null || value === undefined) return undefined;
  // The values of a large map are mostly texts.
  if (typeof value === 'string' && schema.type === 'string' && schema.format !== 'byte') return undefined;
  const { schemas } = reading;
  const mismatch = () => {
    const type = goType(schemas, schema);
    reading.mismatch(
      `json: cannot unmarshal ${jsonType(value)} into Go struct field ${struct}.${path} of type ${type}`,
    );
    return undefined;
  };
  if (schema.$ref !== undefined) {
    const special = SPECIAL[schema.$ref];
    if (special) return special(value, mismatch, reading);
    const target = schemas.get(schema.$ref);
    if (target?.type !== 'object') return target ? valueProblem(reading, target, value, struct, path) : undefined;
    if (!isObject(value)) return mismatch();
    return structProblem(reading, schema.$ref, value, path);
  }
  switch (schema.type) {
    case 'object':
      if (!isObject(value)) return mismatch();
      return schema.additionalProperties && mapProblem(reading, schema.additionalProperties, value, struct, path);
    case 'array':
      if (!Array.isArray(value)) return mismatch();
      return schema.items && firstProblem(reading, schema.items, value, struct, path);
    case 'string':
      if (typeof value !== 'string') return mismatch();
      if (schema.format === 'byte') {
        const problem = base64Problem(value);
        if (problem !== undefined) reading.mismatch(problem);
      }
      return undefined;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : mismatch();
    case 'number':
      return typeof value === 'number' ? undefined : mismatch();
    case 'integer': {
      if (typeof value !== 'number') return mismatch();
      const isSmall = schema.format !== 'int32' || Math.abs(value) <= MAX_INT32;
      return Number.isInteger(value) && isSmall ? undefined : mismatch();
    }
    default:
      return undefined;
  }
}

const MAX_INT32 = 2_147_483_647;

function firstProblem(reading: Reading, schema: BuiltinSchema, values: unknown[], struct: string, path: string) {
  for (const value of values) {
    const problem = valueProblem(reading, schema, value, struct, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** By keys: a list of the values of a large map would take twice the time. */
function mapProblem(
  reading: Reading,
  schema: BuiltinSchema,
  map: Readonly<Record<string, unknown>>,
  struct: string,
  path: string,
): string | undefined {
  for (const key of Object.keys(map)) {
    const problem = valueProblem(reading, schema, map[key], struct, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type Special = (value: unknown, mismatch: () => undefined, reading: Reading) => string | undefined;

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const time: Special = (value, mismatch) => {
  if (typeof value !== 'string') return mismatch();
  return readable(() => parseTime(value))
    ? undefined
    : `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(value)} as "2006"`;
};

/** Six digits of a second, no more and no less. */
const microTime: Special = (value, mismatch) => {
  if (typeof value !== 'string') return mismatch();
  const [, seconds, rest = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(.*)$/.exec(value) ?? [];
  const prefix = `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse`;
  if (seconds === undefined) return `${prefix} ${JSON.stringify(value)} as "2006"`;
  return /^\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(rest) ? undefined : `${prefix} ${JSON.stringify(rest)} as ".000000"`;
};

const EXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';

/** A schema, or a list, which Go reads by itself: a wrong type in it is reported with the path from there. */
const schemaOr =
  (item: BuiltinSchema): Special =>
  (value, _mismatch, { schemas, mismatch }) => {
    const inner: Reading = { schemas, mismatch };
    const schema = `${EXTENSIONS}.JSONSchemaProps`;
    const problem = Array.isArray(value)
      ? firstProblem(inner, item, value, '', '')
      : structProblem(inner, schema, value, '');
    if (problem !== undefined) mismatch(problem);
    return undefined;
  };

const schemaOrSchemas = schemaOr({ $ref: `${EXTENSIONS}.JSONSchemaProps` });

const SPECIAL: Readonly<Record<string, Special>> = {
  [`${EXTENSIONS}.JSONSchemaPropsOrArray`]: schemaOrSchemas,
  [`${EXTENSIONS}.JSONSchemaPropsOrBool`]: schemaOrSchemas,
  [`${EXTENSIONS}.JSONSchemaPropsOrStringArray`]: schemaOr({ type: 'string' }),
  [`${META}.Time`]: time,
  [`${META}.MicroTime`]: microTime,
  [`${META}.FieldsV1`]: () => undefined,
  'io.k8s.apimachinery.pkg.runtime.RawExtension': () => undefined,
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': (value, mismatch) =>
    typeof value === 'string' || Number.isInteger(value) ? undefined : mismatch(),
  'io.k8s.apimachinery.pkg.api.resource.Quantity': (value, mismatch) => {
    if (typeof value !== 'string' && typeof value !== 'number') return mismatch();
    return readable(() => parseQuantity(value))
      ? undefined
      : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  },
};

function readable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof InvalidValueError) return false;
    throw error;
  }
}

function base64Problem(value: string): string | undefined {
  const text = value.replaceAll(/[\r\n]/g, '');
  const bad = /[^A-Za-z0-9+/]/.exec(text.replace(/={1,2}$/, ''));
  if (bad) return `illegal base64 data at input byte ${bad.index}`;
  return text.length % 4 === 0 ? undefined : `illegal base64 data at input byte ${text.length - (text.length % 4)}`;
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) <= MAX_INT32 ? 'number' : `number ${value}`;
  return typeof value;
}

function goType(schemas: Schemas, schema: BuiltinSchema): string {
  if (schema.$ref !== undefined) {
    const target = schemas.get(schema.$ref);
    return target?.type === 'object' || SPECIAL[schema.$ref]
      ? schema.$ref.split('.').slice(-2).join('.')
      : goType(schemas, target ?? {});
  }
  switch (schema.type) {
    case 'array':
      return `[]${goType(schemas, schema.items ?? {})}`;
    case 'object':
      return `map[string]${goType(schemas, schema.additionalProperties ?? {})}`;
    case 'boolean':
      return 'bool';
    case 'integer':
      return schema.format ?? 'int';
    case 'number':
      return 'float64';
    case 'string':
      return 'string';
    default:
      return 'interface {}';
  }
}
