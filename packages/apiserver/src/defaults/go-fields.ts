// What Go's JSON encoder does with the fields of the built-in types that nothing set, or set to nothing: generated, because the
// OpenAPI document knows neither pointers nor `omitempty`.
import { readFileSync } from 'node:fs';
import type { BuiltinSchema } from '@capstan/kube';
import { isObject, type JsonObject } from '../json/copy.ts';
import type { Defaults } from './fill.ts';

/** Of each type its fields by what is done with them; those that are not named are written when they are there. */
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

/** What stands for a field that nothing set before the defaults of its type are looked at; undefined: nothing. */
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

/** What Go writes for a field that nothing set; undefined: nothing. */
export function unsetValue(
  types: GoFields,
  type: string,
  field: string,
  schema: Pick<BuiltinSchema, '$ref'> & { type?: string },
): unknown {
  return types.get(type)?.null?.includes(field) ? null : writtenZero(types, type, field, schema);
}

/**
 * Leaves out what Go leaves out of a value of this type, and writes null where it does; undefined: nothing to do. What comes
 * back from the storage has null where an empty list went in.
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
