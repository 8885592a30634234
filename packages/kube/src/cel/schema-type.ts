// Maps a structural schema to CEL: its type, the conversion from JSON, and its maximal size, from which costs are estimated. Rules cannot
// see values that the schema does not declare (fields that are only preserved, lists without items).

import { parseDurationNanos } from '../duration.ts';
import { isJsonArray, isJsonObject, type JsonSchema } from '../schema/json-schema.ts';
import { CelError } from './errors.ts';
import { parseTimestamp } from './library/times.ts';
import { escapeProperty } from './syntax/escape.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  TIMESTAMP,
} from './typing/types.ts';
import type { CelMap, JsonObjectType, Value } from './values.ts';

export interface Declaration {
  readonly type: CelType;
  readonly convert: (json: unknown) => Value;
  /** The maximal number of characters, items or entries; 0 for a type without a size. */
  readonly maxElements: number;
  /** The minimal size in bytes of JSON. */
  readonly minSize: number;
  /** The declaration of a list's items or a map's values. */
  readonly element?: Declaration;
  readonly fields?: ReadonlyMap<string, Declaration>;
}

/** The largest request that an API server accepts. */
export const MAX_REQUEST = 3 * 1024 * 1024;
const MAX_TEXT = MAX_REQUEST - 2;
const MAX_NAME = 253;

/**
 * Returns the declaration of a schema, or undefined if rules cannot see its values. The root of a resource has apiVersion, kind and
 * metadata.
 */
export function declare(schema: JsonSchema, isResource: boolean, name = 'selfType'): Declaration | undefined {
  const declared = declareType(isResource ? withMetadata(schema) : schema, name);
  if (!declared) return undefined;
  const { convert } = declared;
  return {
    ...declared,
    convert: (json) => {
      if (json !== null && json !== undefined) return convert(json);
      if (schema.nullable) return null;
      throw new CelError('invalid data, got null for schema with nullable=false');
    },
  };
}

function declareType(schema: JsonSchema, name: string): Declaration | undefined {
  if (schema['x-kubernetes-int-or-string']) {
    const maxElements = schema.maxLength === undefined ? MAX_TEXT : 4 * schema.maxLength;
    return { type: DYN, convert: intOrString, maxElements, minSize: 1 };
  }
  switch (schema.type) {
    case 'string':
      return declareString(schema);
    case 'integer':
      return { type: INT, convert: integer, maxElements: 0, minSize: 1 };
    case 'number':
      return { type: DOUBLE, convert: (json) => ofType(json, 'number', 'float'), maxElements: 0, minSize: 1 };
    case 'boolean':
      return { type: BOOL, convert: (json) => ofType(json, 'boolean', 'bool'), maxElements: 0, minSize: 4 };
    case 'array':
      return declareList(schema, name);
    case 'object':
      return isMap(schema) ? declareMap(schema, name) : declareObject(schema, name);
    default:
      return undefined;
  }
}

function isMap(schema: JsonSchema): boolean {
  return typeof schema.additionalProperties === 'object' && !schema.properties;
}

function ofType<T extends 'string' | 'number' | 'boolean'>(
  json: unknown,
  type: T,
  called: string,
): T extends 'string' ? string : T extends 'number' ? number : boolean {
  // oxlint-disable-next-line valid-typeof
  if (typeof json !== type) throw new CelError(`invalid data, expected ${called}, got ${goType(json)}`);
  return json as never;
}

function goType(json: unknown): string {
  switch (typeof json) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(json) ? 'int64' : 'float64';
    default:
      return isJsonArray(json) ? '[]interface {}' : 'map[string]interface {}';
  }
}

// As a double, the largest int64 is one more than its real value.
const int64 = (json: number): bigint => (json === 2 ** 63 ? 2n ** 63n - 1n : BigInt(json));

function integer(json: unknown): bigint {
  if (typeof json === 'number' && Number.isInteger(json)) return int64(json);
  throw new CelError(`invalid data, expected int, got ${goType(json)}`);
}

function intOrString(json: unknown): Value {
  if (typeof json === 'string') return json;
  if (typeof json === 'number' && Number.isInteger(json)) return int64(json);
  throw new CelError('invalid data, expected XIntOrString value to be either a string or integer');
}

function declareString(schema: JsonSchema): Declaration {
  const text = (json: unknown): string => ofType(json, 'string', 'string');
  switch (schema.format) {
    case 'byte': {
      const maxElements = schema.maxLength ?? MAX_TEXT;
      return { type: BYTES, convert: (json) => Buffer.from(text(json), 'base64'), maxElements, minSize: 2 };
    }
    case 'duration':
      return { type: DURATION, convert: (json) => duration(text(json)), maxElements: 32, minSize: 3 };
    case 'date':
      return { type: TIMESTAMP, convert: (json) => date(text(json)), maxElements: 12, minSize: 12 };
    case 'date-time':
      return { type: TIMESTAMP, convert: (json) => dateTime(text(json)), maxElements: 32, minSize: 21 };
    default: {
      const values = (schema.enum ?? []).filter((value) => typeof value === 'string');
      const longest = Math.max(0, ...values.map((value) => Buffer.byteLength(value)));
      const bounded = schema.enum && schema.enum.length > 0 ? longest : MAX_TEXT;
      const maxElements = schema.maxLength === undefined ? bounded : 4 * schema.maxLength;
      return { type: STRING, convert: text, maxElements, minSize: 2 };
    }
  }
}

function duration(text: string): Value {
  try {
    return { kind: 'duration', nanos: parseDurationNanos(text) };
  } catch {
    throw new CelError(`Invalid duration ${text}: unable to parse as a duration`);
  }
}

function date(text: string): Value {
  try {
    return parseTimestamp(`${text}T00:00:00Z`);
  } catch {
    throw new CelError(`Invalid date formatted string ${text}: cannot parse it as YYYY-MM-DD`);
  }
}

function dateTime(text: string): Value {
  try {
    return parseTimestamp(text);
  } catch {
    throw new CelError(`Invalid date-time formatted string ${text}: cannot parse it as RFC 3339`);
  }
}

function declareList(schema: JsonSchema, name: string): Declaration | undefined {
  const { items, maxItems } = schema;
  const element = items && declare(items, items['x-kubernetes-embedded-resource'] === true, `${name}.@idx`);
  if (!element) return undefined;
  const listType = schema['x-kubernetes-list-type'];
  const mapKeys = schema['x-kubernetes-list-map-keys'];
  const kept = listType === 'set' || listType === 'map' ? { listType, ...(mapKeys && { mapKeys }) } : {};
  return {
    type: listOf(element.type),
    convert: (json) => {
      if (!isJsonArray(json))
        throw new CelError('invalid data, expected an array for the provided schema with type=array');
      return { kind: 'list', items: json, convert: element.convert, ...kept };
    },
    maxElements: maxItems ?? Math.floor(MAX_TEXT / (element.minSize + 1)),
    minSize: 2,
    element,
  };
}

function declareMap(schema: JsonSchema, name: string): Declaration | undefined {
  const values = schema.additionalProperties as JsonSchema;
  const element = declare(values, values['x-kubernetes-embedded-resource'] === true, `${name}.@elem`);
  if (!element) return undefined;
  return {
    type: mapOf(STRING, element.type),
    convert: (json) => jsonMap(checkedObject(json), element.convert),
    maxElements: schema.maxProperties ?? Math.floor(MAX_TEXT / (element.minSize + 6)),
    minSize: 2,
    element,
  };
}

function jsonMap(raw: Readonly<Record<string, unknown>>, convert: (json: unknown) => Value): CelMap {
  const keys = Object.keys(raw);
  return {
    kind: 'map',
    size: keys.length,
    get: (key) => (typeof key === 'string' && Object.hasOwn(raw, key) ? convert(raw[key]) : undefined),
    keys: () => keys,
  };
}

function checkedObject(json: unknown): Readonly<Record<string, unknown>> {
  if (isJsonObject(json)) return json;
  throw new CelError('invalid data, expected a map for the provided schema with type=object');
}

function declareObject(schema: JsonSchema, name: string): Declaration {
  const fields = new Map<string, Declaration>();
  const required = new Set(schema.required);
  let minSize = 2;
  for (const [property, part] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeProperty(property);
    const declared = declare(part, part['x-kubernetes-embedded-resource'] === true, `${name}.${escaped ?? property}`);
    if (!declared) continue;
    if (escaped !== undefined) fields.set(escaped, declared);
    // A reserved word can also be used unescaped as the name of a field.
    if (escaped === `__${property}__`) fields.set(property, declared);
    if (required.has(property) && part.default === undefined) {
      minSize += Buffer.byteLength(property) + declared.minSize + 4;
    }
  }
  const properties = Object.keys(schema.properties ?? {});
  const names = new Map(properties.map((property) => [escapeProperty(property), property]));
  const type: JsonObjectType = {
    kind: 'object',
    name,
    fields: new Map([...fields].map(([field, declared]) => [field, declared.type])),
    members: new Map([...fields].map(([field, { convert }]) => [field, { name: names.get(field) ?? field, convert }])),
  };
  return {
    type,
    convert: (json) => ({ kind: 'object', raw: checkedObject(json), type }),
    maxElements: 0,
    minSize,
    fields,
  };
}

// A rule sees only the names in the metadata of an object, even if the schema declares more.
function withMetadata(schema: JsonSchema): JsonSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const { name, generateName } = metadata?.properties ?? {};
  const isComplete =
    kind?.type === 'string' &&
    apiVersion?.type === 'string' &&
    metadata?.type === 'object' &&
    name?.type === 'string' &&
    generateName?.type === 'string';
  if (isComplete || schema.type !== 'object') return schema;
  const text: JsonSchema = { type: 'string' };
  return {
    ...schema,
    properties: {
      ...schema.properties,
      kind: text,
      apiVersion: text,
      metadata: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: Math.min(name?.maxLength ?? MAX_NAME, MAX_NAME) },
          generateName: { type: 'string', maxLength: Math.min(generateName?.maxLength ?? MAX_NAME, MAX_NAME - 1) },
        },
      },
    },
  };
}
