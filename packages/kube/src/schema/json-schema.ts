import type { ValidationRule } from '../builtin/index.ts';

export type JsonType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';

/**
 * A structural schema: the part of OpenAPI v3 that a CustomResourceDefinition may use. It is assignable to the JSONSchemaProps of a
 * manifest; the way back goes through checkStructural. Schemas are never changed after they were built.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export interface JsonSchema extends ValueValidation {
  /** May be absent only beside int-or-string or preserve-unknown-fields, and inside anyOf, allOf, oneOf and not. */
  type?: JsonType;
  title?: string;
  description?: string;
  /** Filled in where the field is absent and its parent is there; also where it is null and not nullable. */
  default?: unknown;
  example?: unknown;
  nullable?: boolean;
  properties?: Record<string, JsonSchema>;
  /** Excludes `properties`. `true` allows any key; the objects below such keys are pruned to nothing. */
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  /** Holds down to where `properties` or `additionalProperties` are specified again. */
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** The value has apiVersion, kind and metadata, which are checked without being specified. */
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  /** Default atomic. */
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  /** Default granular. */
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-validations'?: ValidationRule[];
}

/** Keywords that restrict values but do not specify their parts. */
export interface ValueValidation {
  format?: string;
  maximum?: number;
  exclusiveMaximum?: boolean;
  minimum?: number;
  exclusiveMinimum?: boolean;
  multipleOf?: number;
  /** In characters (code points). */
  maxLength?: number;
  minLength?: number;
  /** RE2 syntax; matches anywhere unless anchored. */
  pattern?: string;
  maxItems?: number;
  minItems?: number;
  uniqueItems?: boolean;
  maxProperties?: number;
  minProperties?: number;
  required?: string[];
  enum?: unknown[];
  allOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  not?: JsonSchema;
}

export type JsonObject = Record<string, unknown>;

/** True for a JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema of one field of an object: its property, else the one for all other keys, else undefined. */
export function schemaOfField(schema: JsonSchema, field: string): JsonSchema | undefined {
  const { properties, additionalProperties } = schema;
  if (properties && Object.hasOwn(properties, field)) return properties[field];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Deep equality of JSON values; the order of keys does not matter, and an undefined field is an absent one. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) {
    return isJsonArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  if (keys.length !== Object.keys(b).filter((key) => b[key] !== undefined).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]));
}

/** Array.isArray, for values of unknown type. */
export function isJsonArray(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
