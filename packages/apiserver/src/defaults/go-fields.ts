// The handling of unset and empty fields of the built-in types by Go's JSON encoder: generated, because the OpenAPI document knows neither
// pointers nor `omitempty`.
import { readFileSync } from 'node:fs';
import type { BuiltinSchema } from '@capstan/kube';
import { isObject, type JsonObject } from '../json/copy.ts';
import type { Defaults } from './fill.ts';

/** The fields of each type by their handling. Other fields are written when they are present. */
export type GoFields = ReadonlyMap<string, Readonly<Partial<Record<GoEffect, readonly string[]>>>>;

// `zero`: always written, as its zero. `null`: always written, null when not set. `dropZero`: left out when zero. `dropEmpty`:
// left out when empty. `struct`: always written, {} at least.
type GoEffect = 'zero' | 'null' | 'dropZero' | 'dropEmpty' | 'struct';

export function loadGoFields(): GoFields {
  const text = readFileSync(new URL('./gen/go-fields.json', import.meta.url), 'utf8');
  // Our own file, whose shape the generator makes.
  const { types } = JSON.parse(text) as { types: Record<string, Partial<Record<GoEffect, string[]>>> };
  return new Map(Object.entries(types));
}

/** The value of an unset field before the defaults of its type apply; undefined: none. */
export function writtenZero(
  types: GoFields,
  type: string,
  field: string,
  schema: Pick<BuiltinSchema, '$ref'> & { type?: string },
): unknown {
  const effects = types.get(type);
  if (effects?.struct?.includes(field)) return {};
  if (!effects?.zero?.includes(field)) return undefined;
  return schema.type === 'string' ? '' : schema.type === 'boolean' ? false : schema.$ref !== undefined ? undefined : 0;
}

/** The value that Go writes for an unset field; undefined: none. */
export function unsetValue(
  types: GoFields,
  type: string,
  field: string,
  schema: Pick<BuiltinSchema, '$ref'> & { type?: string },
): unknown {
  return types.get(type)?.null?.includes(field) ? null : writtenZero(types, type, field, schema);
}

/**
 * Leaves out the fields that Go leaves out of a value of this type, and writes null where Go does; undefined: nothing to do. An empty list
 * comes back from the storage as null.
 */
export function cleanerOf(types: GoFields, type: string, isStored: boolean): Defaults | undefined {
  const effects = types.get(type);
  const { dropZero = [], dropEmpty = [], null: nulls = [] } = effects ?? {};
  if (dropZero.length + dropEmpty.length + nulls.length === 0) return undefined;
  return (value) => {
    let result: JsonObject | undefined;
    const drop = (field: string) => {
      result ??= { ...value };
      delete result[field];
    };
    for (const field of dropZero) if (isZero(value[field])) drop(field);
    for (const field of dropEmpty) if (isEmpty(value[field])) drop(field);
    for (const field of nulls) {
      if (value[field] !== undefined && !(isStored && isEmpty(value[field]))) continue;
      result ??= { ...value };
      result[field] = null;
    }
    return result ?? value;
  };
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === '' || (isObject(value) && Object.keys(value).length === 0);
}
