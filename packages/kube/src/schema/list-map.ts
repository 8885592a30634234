import { duplicateValue, type FieldError, invalidField } from './field-error.ts';
import { goJson } from './go-text.ts';
import { isJsonArray, isJsonObject, type JsonObject, type JsonSchema } from './json-schema.ts';

/** Finds, for an item of a list with x-kubernetes-list-type map, the item of another list that has the same keys. */
export function correlateItems(schema: JsonSchema, items: readonly unknown[]): (item: unknown) => unknown {
  const byKey = new Map<string, unknown>();
  for (const item of items) {
    if (isJsonObject(item)) byKey.set(goJson(keyOfItem(schema, item)), item);
  }
  return (item) => (isJsonObject(item) ? byKey.get(goJson(keyOfItem(schema, item))) : undefined);
}

/**
 * Reports items that occur twice in sets, and keys that occur twice in list-maps. Each repeated value is reported once, at its second
 * place. Inside maps the path has brackets (`spec.pools[a].members[1]`), unlike elsewhere: so does the server's.
 */
export function validateListTypes(schema: JsonSchema, value: unknown, path = ''): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, value, path, errors);
  return errors;
}

/** Whether a schema has a set or a list-map anywhere, so that lists need a look at all. */
export function hasListTypes(schema: JsonSchema): boolean {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'set' || listType === 'map') return true;
  const { items, properties, additionalProperties } = schema;
  if (items && hasListTypes(items)) return true;
  if (typeof additionalProperties === 'object' && hasListTypes(additionalProperties)) return true;
  return Object.values(properties ?? {}).some(hasListTypes);
}

function visit(schema: JsonSchema, value: unknown, path: string, errors: FieldError[]): void {
  if (isJsonArray(value)) {
    const listType = schema['x-kubernetes-list-type'];
    if (listType === 'set') reportRepeated(value, path, errors);
    else if (listType === 'map') visitListMap(schema, value, path, errors);
    const { items } = schema;
    if (!items) return;
    for (const [index, item] of value.entries()) visit(items, item, `${path}[${index}]`, errors);
  } else if (isJsonObject(value)) {
    const { properties, additionalProperties } = schema;
    if (typeof additionalProperties === 'object') {
      for (const key of Object.keys(value)) visit(additionalProperties, value[key], `${path}[${key}]`, errors);
    }
    if (!properties) return;
    for (const key of Object.keys(value)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (property) visit(property, value[key], path === '' ? key : `${path}.${key}`, errors);
    }
  }
}

function visitListMap(schema: JsonSchema, items: unknown[], path: string, errors: FieldError[]): void {
  const stranger = items.findIndex((item) => item !== null && !isJsonObject(item));
  if (stranger >= 0) {
    const detail = 'must be an object for an array of list-type map';
    errors.push(invalidField(`${path}[${stranger}]`, items[stranger], detail));
    return;
  }
  reportRepeated(
    items.map((item) => (isJsonObject(item) ? keyOfItem(schema, item) : {})),
    path,
    errors,
  );
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
  for (const [index, item] of items.entries()) {
    const identity = typeof item === 'object' && item !== null ? `json:${goJson(item)}` : item;
    // A string could look like the JSON of an object; only then does its own identity need a mark.
    const key = typeof identity === 'string' && typeof item === 'string' ? `text:${identity}` : identity;
    const seen = times.get(key) ?? 0;
    times.set(key, seen + 1);
    if (seen === 1) errors.push(duplicateValue(`${path}[${index}]`, item));
  }
}
