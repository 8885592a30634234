// The types of a body, checked as Go's decoder does it and told in its words: the innermost struct, the path from the root
// (without indexes), and the type that was wanted.
import { type BuiltinSchema, InvalidValueError, parseQuantity, parseTime } from '@capstan/kube';
import { isObject } from '../json/copy.ts';

type Schemas = ReadonlyMap<string, BuiltinSchema>;

/** What is wrong with the types of a value, or undefined. Null is nothing, and fits everywhere. */
export function typeProblem(schemas: Schemas, definition: string, value: unknown): string | undefined {
  return structProblem(schemas, definition, value, '');
}

function structProblem(schemas: Schemas, definition: string, value: unknown, path: string): string | undefined {
  const schema = schemas.get(definition);
  const properties = schema?.properties;
  if (!properties || !isObject(value)) return undefined;
  const struct = definition.slice(definition.lastIndexOf('.') + 1);
  for (const [field, part] of Object.entries(value)) {
    const known = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (!known) continue;
    const at = path === '' ? field : `${path}.${field}`;
    const problem = valueProblem(schemas, known, part, struct, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem(
  schemas: Schemas,
  schema: BuiltinSchema,
  value: unknown,
  struct: string,
  path: string,
): string | undefined {
  if (value === null || value === undefined) return undefined;
  const mismatch = () =>
    `json: cannot unmarshal ${jsonType(value)} into Go struct field ${struct}.${path} of type ${goType(schemas, schema)}`;
  if (schema.$ref !== undefined) {
    const special = SPECIAL[schema.$ref];
    if (special) return special(value, mismatch);
    const target = schemas.get(schema.$ref);
    if (target?.type !== 'object') return target ? valueProblem(schemas, target, value, struct, path) : undefined;
    if (!isObject(value)) return mismatch();
    return structProblem(schemas, schema.$ref, value, path);
  }
  switch (schema.type) {
    case 'object':
      if (!isObject(value)) return mismatch();
      if (!schema.additionalProperties) return undefined;
      return firstProblem(schemas, schema.additionalProperties, Object.values(value), struct, path);
    case 'array':
      if (!Array.isArray(value)) return mismatch();
      return schema.items && firstProblem(schemas, schema.items, value, struct, path);
    case 'string':
      if (typeof value !== 'string') return mismatch();
      return schema.format === 'byte' ? base64Problem(value) : undefined;
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

function firstProblem(schemas: Schemas, schema: BuiltinSchema, values: unknown[], struct: string, path: string) {
  for (const value of values) {
    const problem = valueProblem(schemas, schema, value, struct, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type Special = (value: unknown, mismatch: () => string) => string | undefined;

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const time: Special = (value, mismatch) => {
  if (typeof value !== 'string') return mismatch();
  return readable(() => parseTime(value))
    ? undefined
    : `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(value)} as "2006"`;
};

const SPECIAL: Readonly<Record<string, Special>> = {
  [`${META}.Time`]: time,
  [`${META}.MicroTime`]: time,
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
