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
  /** Prunes the metadata of the object and of embedded objects, and records dropped fields. Default: metadata stays unchanged. */
  metadata?: (metadata: unknown, path: string, dropped: string[]) => unknown;
}

/**
 * Drops the fields that the schema does not specify, as the API server does with every object it decodes. Below
 * x-kubernetes-preserve-unknown-fields, all fields stay, and parts that the schema specifies again are pruned.
 */
export function prune<T>(schema: JsonSchema, value: T, options: PruneOptions = {}): Pruned<T> {
  const root = options.isResource ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema;
  const own: string[] = [];
  const embedded: string[] = [];
  const dropped: string[] = [];
  const metadata = (part: unknown, path: string) =>
    options.metadata ? options.metadata(part, path, path === 'metadata' ? own : embedded) : part;
  const pruned = pruneValue({ metadata, dropped }, root, value, '') as T;
  // In the order of the API server: its own metadata, the rest, the metadata of embedded objects.
  return { value: pruned, dropped: [...own.sort(), ...dropped.sort(), ...embedded.sort()] };
}

const META = new Set(['apiVersion', 'kind', 'metadata']);

interface Pruning {
  metadata(part: unknown, path: string): unknown;
  dropped: string[];
}

function pruneValue(pruning: Pruning, schema: JsonSchema | undefined, value: unknown, path: string): unknown {
  const { dropped } = pruning;
  if (schema?.['x-kubernetes-preserve-unknown-fields']) return pruneSpecified(pruning, schema, value, path);
  if (isJsonArray(value)) {
    return mapItems(value, (item, index) => pruneValue(pruning, schema?.items, item, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return value;
  return mapFields(value, (field, part) => {
    const at = path === '' ? field : `${path}.${field}`;
    if (schema?.['x-kubernetes-embedded-resource'] && META.has(field)) {
      return field === 'metadata' ? pruning.metadata(part, at) : part;
    }
    const { properties, additionalProperties } = schema ?? {};
    if (properties && Object.hasOwn(properties, field)) return pruneValue(pruning, properties[field], part, at);
    if (additionalProperties !== undefined) {
      return pruneValue(pruning, typeof additionalProperties === 'object' ? additionalProperties : undefined, part, at);
    }
    dropped.push(at);
    return DROP;
  });
}

function pruneSpecified(pruning: Pruning, schema: JsonSchema | undefined, value: unknown, path: string): unknown {
  if (!schema) return value;
  if (isJsonArray(value)) {
    return mapItems(value, (item, index) => pruneSpecified(pruning, schema.items, item, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return value;
  return mapFields(value, (field, part) => {
    const at = path === '' ? field : `${path}.${field}`;
    if (schema['x-kubernetes-embedded-resource'] && META.has(field)) {
      return field === 'metadata' ? pruning.metadata(part, at) : part;
    }
    const { properties, additionalProperties } = schema;
    if (properties && Object.hasOwn(properties, field)) return pruneValue(pruning, properties[field], part, at);
    if (additionalProperties === undefined) return part;
    return pruneValue(pruning, typeof additionalProperties === 'object' ? additionalProperties : undefined, part, at);
  });
}

/** The result for a field that is to be dropped. */
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
