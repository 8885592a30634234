import { duplicateValue, type FieldError, invalidField } from '../field-error.ts';
import { goJson } from '../go-text.ts';
import { isJsonArray, isJsonObject, type JsonObject, type JsonSchema } from '../json-schema.ts';

/** Finds, for an item of a list with x-kubernetes-list-type map, the item of another list that has the same keys. */
export function correlateItems(schema: JsonSchema, items: readonly unknown[]): (item: unknown) => unknown {
  const byKey = new Map<string, unknown>();
  for (const item of items) {
    if (isJsonObject(item)) byKey.set(identityOfObject(keyOfItem(schema, item)), item);
  }
  return (item) => (isJsonObject(item) ? byKey.get(identityOfObject(keyOfItem(schema, item))) : undefined);
}

export type ListTypeCheck = (value: unknown, path: string, errors: FieldError[]) => void;

/**
 * Reports items that occur twice in sets, and keys that occur twice in list-maps. Each repeated value is reported once, at its second
 * place. Inside maps the path has brackets (`spec.pools[a].members[1]`), unlike elsewhere: so does the server's.
 */
export function validateListTypes(schema: JsonSchema, value: unknown, path = ''): FieldError[] {
  const errors: FieldError[] = [];
  compileListTypes(schema)?.(value, path, errors);
  return errors;
}

/** The check of a schema's list types; undefined when it has neither sets nor list-maps, so that most parts are never looked at. */
export function compileListTypes(schema: JsonSchema): ListTypeCheck | undefined {
  const { type, additionalProperties } = schema;
  const listType = schema['x-kubernetes-list-type'];
  const items = schema.items && compileListTypes(schema.items);
  const others = typeof additionalProperties === 'object' ? compileListTypes(additionalProperties) : undefined;
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const check = compileListTypes(property);
    return check ? [{ name, check }] : [];
  });
  if (type === 'array' && (items || listType === 'set' || listType === 'map')) {
    return (value, path, errors) => {
      if (!isJsonArray(value)) return;
      if (listType === 'set') reportRepeated(value, path, errors);
      else if (listType === 'map') checkListMap(schema, value, path, errors);
      if (!items) return;
      for (let index = 0; index < value.length; index++) items(value[index], `${path}[${index}]`, errors);
    };
  }
  if (!others && fields.length === 0) return undefined;
  return (value, path, errors) => {
    if (!isJsonObject(value)) return;
    if (others) for (const key of Object.keys(value)) others(value[key], `${path}[${key}]`, errors);
    for (const { name, check } of fields) {
      if (value[name] !== undefined) check(value[name], path === '' ? name : `${path}.${name}`, errors);
    }
  };
}

function checkListMap(schema: JsonSchema, items: unknown[], path: string, errors: FieldError[]): void {
  const foreign = items.findIndex((item) => item !== null && !isJsonObject(item));
  if (foreign >= 0) {
    const detail = 'must be an object for an array of list-type map';
    errors.push(invalidField(`${path}[${foreign}]`, items[foreign], detail));
    return;
  }
  const keys = items.map((item) => (isJsonObject(item) ? keyOfItem(schema, item) : {}));
  reportRepeated(keys, path, errors);
}

function keyOfItem(schema: JsonSchema, item: JsonObject): JsonObject {
  const key: JsonObject = {};
  for (const name of schema['x-kubernetes-list-map-keys'] ?? []) {
    if (item[name] !== undefined) key[name] = item[name];
  }
  return key;
}

function reportRepeated(items: readonly unknown[], path: string, errors: FieldError[]): void {
  if (items.length < 2) return;
  const times = new Map<unknown, number>();
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const identity = identityOf(item);
    const seen = times.get(identity) ?? 0;
    times.set(identity, seen + 1);
    if (seen === 1) errors.push(duplicateValue(`${path}[${index}]`, item));
  }
}

// Equal values have one identity. Only texts get a mark, because one could look like the JSON of an object.
function identityOf(item: unknown): unknown {
  if (typeof item === 'string') return `"${item}`;
  return typeof item === 'object' && item !== null ? identityOfObject(item) : item;
}

// Most keys are one field with a scalar value, which is worth avoiding the JSON for.
function identityOfObject(item: object): string {
  const keys = Object.keys(item);
  const [name = ''] = keys;
  const value: unknown = keys.length === 1 ? (item as JsonObject)[name] : undefined;
  return typeof value === 'string' ? `${name}="${value}` : goJson(item);
}
