// A version of a definition as Go writes it: without empty or false values, where they have no meaning.
import { isObject, type JsonObject } from '../json/copy.ts';

export function writtenVersion(version: unknown): unknown {
  if (!isObject(version)) return version;
  const { schema, ...rest } = version;
  const result = without(rest, ['additionalPrinterColumns', 'selectableFields', 'deprecated']);
  if (!isObject(schema) || !isObject(schema['openAPIV3Schema']))
    return { ...result, ...(schema !== undefined && { schema }) };
  return { ...result, schema: { ...schema, openAPIV3Schema: writtenSchema(schema['openAPIV3Schema']) } };
}

const TEXTS = ['id', '$schema', 'description', 'type', 'format', 'title', 'pattern'];
const SWITCHES = [
  'nullable',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'uniqueItems',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
];
const LISTS = ['allOf', 'oneOf', 'anyOf'];
const MAPS = ['properties', 'patternProperties', 'definitions'];
const OTHERS = ['enum', 'required', 'dependencies', 'x-kubernetes-list-map-keys', 'x-kubernetes-validations'];

function writtenSchema(schema: JsonObject): JsonObject {
  const result = without(schema, [...TEXTS, ...SWITCHES, ...LISTS, ...MAPS, ...OTHERS]);
  const inside = (value: unknown) => (isObject(value) ? writtenSchema(value) : value);
  for (const field of LISTS) if (Array.isArray(result[field])) result[field] = result[field].map(inside);
  for (const field of MAPS) {
    const map = result[field];
    // A schema that is null has no value to Go.
    if (isObject(map))
      result[field] = Object.fromEntries(Object.entries(map).map(([key, one]) => [key, inside(one ?? {})]));
  }
  for (const field of ['items', 'not', 'additionalProperties', 'additionalItems']) {
    if (isObject(result[field])) result[field] = inside(result[field]);
  }
  const rules = result['x-kubernetes-validations'];
  // Go always writes the rule: an entry without one has an empty rule, which validation refuses.
  if (Array.isArray(rules)) {
    result['x-kubernetes-validations'] = rules.map((one: unknown) => (isObject(one) ? { rule: '', ...one } : one));
  }
  return result;
}

function without(object: JsonObject, fields: readonly string[]): JsonObject {
  const result = { ...object };
  for (const field of fields) if (isHollow(result[field])) delete result[field];
  return result;
}

function isHollow(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === '' || value === false || (isObject(value) && Object.keys(value).length === 0);
}
