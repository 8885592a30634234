// Structural defaulting. A default fills a field that is absent from an object that is there; it never makes the parent. A null in a
// field that is not nullable counts as absent: it takes the default, or goes. The schema is compiled once to closures that skip
// whatever has no default below it, and that copy only the objects on the way to something that changed.
import { isJsonArray, isJsonObject, type JsonObject, type JsonSchema } from './json-schema.ts';

export type Defaulter = (value: unknown) => unknown;

/** The value with the schema's defaults filled in: the same reference when nothing was missing; the input is never changed. */
export function applyDefaults<T>(schema: JsonSchema, value: T): T {
  return compileDefaults(schema)(value) as T;
}

export interface DefaultsOptions {
  /** A null without a default stays, so that validation refuses it, as the server does for applied objects. Default: false. */
  keepsNulls?: boolean;
}

/** The defaulting function of a schema, for callers that default many values. */
export function compileDefaults(schema: JsonSchema, options: DefaultsOptions = {}): Defaulter {
  const fieldRule = (name: string, property: JsonSchema) => ruleOf(name, property, options);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => fieldRule(name, property));
  const byName = new Map(fields.map((field) => [field.name, field]));
  const { additionalProperties } = schema;
  const others = typeof additionalProperties === 'object' ? fieldRule('', additionalProperties) : undefined;
  const items = schema.items ? fieldRule('', schema.items) : undefined;

  return (value) => {
    if (isJsonArray(value)) return items ? defaultItems(items, value) : value;
    if (!isJsonObject(value)) return value;
    const copy = others ? defaultMap(byName, others, value) : defaultObject(fields, value);
    return copy ?? value;
  };
}

interface FieldRule {
  readonly name: string;
  readonly nullable: boolean;
  readonly hasDefault: boolean;
  readonly defaultValue: unknown;
  readonly below: Defaulter;
}

function ruleOf(name: string, schema: JsonSchema, options: DefaultsOptions): FieldRule {
  const below = compileDefaults(schema, options);
  // Defaults of a default's own fields are filled in here once. The value is shared by every object: objects are never changed in place.
  const defaultValue = frozen(below(schema.default ?? null));
  const hasDefault = defaultValue !== null;
  const nullable = schema.nullable === true || (options.keepsNulls === true && !hasDefault);
  return { name, nullable, hasDefault, defaultValue, below };
}

function defaultObject(fields: readonly FieldRule[], object: JsonObject): JsonObject | undefined {
  let copy: JsonObject | undefined;
  for (const field of fields) {
    const { name } = field;
    const part = object[name];
    if (part === undefined) {
      if (field.hasDefault) (copy ??= { ...object })[name] = field.defaultValue;
    } else if (part === null) {
      if (field.nullable) continue;
      copy ??= { ...object };
      if (field.hasDefault) copy[name] = field.defaultValue;
      else delete copy[name];
    } else if (typeof part === 'object') {
      const changed = field.below(part);
      if (changed !== part) (copy ??= { ...object })[name] = changed;
    }
  }
  return copy;
}

function defaultMap(
  byName: ReadonlyMap<string, FieldRule>,
  others: FieldRule,
  object: JsonObject,
): JsonObject | undefined {
  let copy = byName.size > 0 ? defaultObject([...byName.values()], object) : undefined;
  for (const name of Object.keys(object)) {
    if (byName.has(name)) continue;
    const part = object[name];
    if (part === null) {
      if (others.nullable) continue;
      copy ??= { ...object };
      if (others.hasDefault) copy[name] = others.defaultValue;
      else delete copy[name];
    } else if (typeof part === 'object') {
      const changed = others.below(part);
      if (changed !== part) (copy ??= { ...object })[name] = changed;
    }
  }
  return copy;
}

function defaultItems(rule: FieldRule, items: unknown[]): unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    // Unlike a field, a null item without a default stays: dropping it would move the others.
    const changed = item === null && !rule.nullable && rule.hasDefault ? rule.defaultValue : rule.below(item);
    if (changed !== item) (copy ??= [...items])[index] = changed;
  }
  return copy ?? items;
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const copy: unknown = isJsonArray(value)
    ? value.map(frozen)
    : Object.fromEntries(Object.entries(value).map(([key, part]) => [key, frozen(part)]));
  return Object.freeze(copy);
}
