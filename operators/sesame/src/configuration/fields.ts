// The configuration as a tree of fields: its leaves (scalars, lists, maps: each replaced as a whole), and access by path.
import { isJsonObject, type JsonObject, type JsonSchema } from '@capstan/kube/values';
import { configurationSchema } from '../kinds/configuration-spec.ts';

/** Structs that are replaced as a whole: their fields only mean something together. */
const WHOLE = [
  'globalExtAuth.httpSettings',
  'rateLimitService.defaultGlobalRateLimitPolicy',
  'envoy.cluster.outlierDetection',
];

/** Every leaf, `envoy.http.port`, in the order of the schema. */
export const LEAVES: readonly string[] = leavesOf(configurationSchema.json, '');

function leavesOf(schema: JsonSchema, path: string): string[] {
  if (isLeaf(schema, path)) return [path];
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    leavesOf(field, path === '' ? name : `${path}.${name}`),
  );
}

function isLeaf({ properties }: JsonSchema, path: string): boolean {
  return properties === undefined || WHOLE.includes(path);
}

/** The schema of the field at a path of names; undefined where there is none. */
export function schemaAt(path: string): JsonSchema | undefined {
  let schema: JsonSchema | undefined = configurationSchema.json;
  for (const name of path === '' ? [] : path.split('.')) schema = schema?.properties?.[name];
  return schema;
}

export function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split('.')) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}

/** A copy with the field set, or removed when the value is undefined; parents are created. */
export function withValueAt(value: JsonObject, path: string, leaf: unknown): JsonObject {
  const [name = '', ...rest] = path.split('.');
  const copy = { ...value };
  if (rest.length === 0) {
    if (leaf === undefined) delete copy[name];
    else copy[name] = leaf;
    return copy;
  }
  const below = copy[name];
  copy[name] = withValueAt(isJsonObject(below) ? below : {}, rest.join('.'), leaf);
  return copy;
}

/** The leaves that are given, with their values. */
export function givenLeaves(value: unknown): [path: string, value: unknown][] {
  return LEAVES.flatMap((path): [string, unknown][] => {
    const leaf = valueAt(value, path);
    return leaf === undefined ? [] : [[path, leaf]];
  });
}

/** `over` laid over `base`: leaf by leaf. Groups that are given without a leaf are kept. */
export function overlay(base: JsonObject, over: JsonObject, path = ''): JsonObject {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined) continue;
    const at = path === '' ? name : `${path}.${name}`;
    const schema = schemaAt(at);
    const below = merged[name];
    merged[name] =
      isJsonObject(value) && isJsonObject(below) && schema !== undefined && !isLeaf(schema, at)
        ? overlay(below, value, at)
        : value;
  }
  return merged;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
