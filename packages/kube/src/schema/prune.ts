import { isJsonArray, isJsonObject, type JsonObject, type JsonSchema } from './json-schema.ts';

export interface Pruned<T> {
  /** The value itself when nothing was dropped. */
  value: T;
  /** Paths of the fields that were dropped, sorted: `spec.ports[0].nme`. */
  dropped: string[];
}

export interface PruneOptions {
  /** The value is a whole object, whose apiVersion, kind and metadata stay. Default false. */
  isResource?: boolean;
}

/**
 * Drops the fields that the schema does not specify, as the API server does with every object it decodes. Below
 * x-kubernetes-preserve-unknown-fields everything stays except what the schema specifies again.
 */
export function prune<T>(schema: JsonSchema, value: T, options: PruneOptions = {}): Pruned<T> {
  const root = options.isResource ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema;
  const dropped: string[] = [];
  const pruned = pruneValue(root, value, '', dropped) as T;
  return { value: pruned, dropped: dropped.sort() };
}

const META = new Set(['apiVersion', 'kind', 'metadata']);

function pruneValue(schema: JsonSchema | undefined, value: unknown, path: string, dropped: string[]): unknown {
  if (schema?.['x-kubernetes-preserve-unknown-fields']) return pruneSpecified(schema, value, path, dropped);
  if (isJsonArray(value)) {
    return mapItems(value, (item, index) => pruneValue(schema?.items, item, `${path}[${index}]`, dropped));
  }
  if (!isJsonObject(value)) return value;
  return mapFields(value, (field, part) => {
    if (schema?.['x-kubernetes-embedded-resource'] && META.has(field)) return part;
    const at = path === '' ? field : `${path}.${field}`;
    const { properties, additionalProperties } = schema ?? {};
    if (properties && Object.hasOwn(properties, field)) return pruneValue(properties[field], part, at, dropped);
    if (additionalProperties !== undefined) {
      return pruneValue(typeof additionalProperties === 'object' ? additionalProperties : undefined, part, at, dropped);
    }
    dropped.push(at);
    return DROP;
  });
}

function pruneSpecified(schema: JsonSchema | undefined, value: unknown, path: string, dropped: string[]): unknown {
  if (!schema) return value;
  if (isJsonArray(value)) {
    return mapItems(value, (item, index) => pruneSpecified(schema.items, item, `${path}[${index}]`, dropped));
  }
  if (!isJsonObject(value)) return value;
  return mapFields(value, (field, part) => {
    if (schema['x-kubernetes-embedded-resource'] && META.has(field)) return part;
    const at = path === '' ? field : `${path}.${field}`;
    const { properties, additionalProperties } = schema;
    if (properties && Object.hasOwn(properties, field)) return pruneValue(properties[field], part, at, dropped);
    if (additionalProperties === undefined) return part;
    return pruneValue(typeof additionalProperties === 'object' ? additionalProperties : undefined, part, at, dropped);
  });
}

/** What a field's new value is when the field shall go. */
const DROP = Symbol('drop');

function mapFields(object: JsonObject, change: (field: string, part: unknown) => unknown): JsonObject {
  let copy: JsonObject | undefined;
  for (const field of Object.keys(object)) {
    const part = change(field, object[field]);
    if (part === object[field]) continue;
    copy ??= { ...object };
    if (part === DROP) delete copy[field];
    else copy[field] = part;
  }
  return copy ?? object;
}

function mapItems(items: unknown[], change: (item: unknown, index: number) => unknown): unknown[] {
  let copy: unknown[] | undefined;
  for (const [index, item] of items.entries()) {
    const changed = change(item, index);
    if (changed === item) continue;
    copy ??= [...items];
    copy[index] = changed;
  }
  return copy ?? items;
}
