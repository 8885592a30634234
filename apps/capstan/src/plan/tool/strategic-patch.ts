// Strategic merge patches as kubectl and Helm create them for built-in kinds. The schema decides which lists are merged item
// by item, by which key, and which maps keep only the keys that the manifest has.
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
import { type BuiltinSchema, definitionOf, type Kind, loadBuiltinSchemas } from '@capstan/kube';
import { isEqual, isMap, type Json } from './merge-patch.ts';

/** The built-in kinds whose lists can be merged; loaded when the first one is needed. */
export interface MergeSchemas {
  /** Undefined for kinds that are not built in. */
  of(kind: Kind): BuiltinSchema | undefined;
  /** Creates the patch that `kubectl apply` sends for an object of this schema. */
  threeWayPatch(schema: BuiltinSchema, original: Json, modified: Json, current: Json): Json;
}

export function mergeSchemas(): MergeSchemas {
  let loaded: ReadonlyMap<string, BuiltinSchema> | undefined;
  const schemas = () => {
    loaded ??= loadBuiltinSchemas();
    return loaded;
  };
  return {
    of({ apiVersion, kind }) {
      const [version = '', group = ''] = apiVersion.split('/').toReversed();
      const name = definitionOf(schemas(), { group, version, kind });
      // kubectl merges definitions of custom resources strategically as well: they are a built-in kind.
      return name === undefined ? undefined : schemas().get(name);
    },
    threeWayPatch: (schema, original, modified, current) =>
      mapPatch(original, modified, current, schema, (one) => resolved(one, schemas()), false),
  };
}

type Resolve = (schema: BuiltinSchema | undefined) => BuiltinSchema | undefined;

function mapPatch(
  original: Json,
  modified: Json,
  current: Json,
  schema: BuiltinSchema | undefined,
  resolve: Resolve,
  retainsKeys: boolean,
): Json {
  const patch: Json = {};
  for (const [key, value] of Object.entries(modified)) {
    const live = current[key];
    // The strategy is beside the reference to the definition, so it is read before the reference is followed.
    const field = fieldOf(resolve(schema), key);
    const strategies = field?.['x-kubernetes-patch-strategy']?.split(',') ?? [];
    const before = original[key];
    if (isMap(value) && isMap(live) && !strategies.includes('replace')) {
      const below = mapPatch(
        isMap(before) ? before : {},
        value,
        live,
        field,
        resolve,
        strategies.includes('retainKeys'),
      );
      if (Object.keys(below).length > 0) patch[key] = below;
    } else if (Array.isArray(value) && Array.isArray(live) && strategies.includes('merge')) {
      const mergeKey = field?.['x-kubernetes-patch-merge-key'];
      const list = { key, original: Array.isArray(before) ? before : [], modified: value, current: live };
      if (mergeKey === undefined) Object.assign(patch, scalarsPatch(list));
      else Object.assign(patch, itemsPatch(list, mergeKey, resolve(field)?.items, resolve));
    } else if (live === undefined ? value !== null : !isEqual(value, live)) patch[key] = value;
  }
  for (const key of Object.keys(original)) if (!(key in modified)) patch[key] = null;
  const isLeft = Object.keys(current).some((key) => !(key in modified));
  if (retainsKeys && (isLeft || Object.keys(patch).length > 0))
    patch['$retainKeys'] = Object.keys(modified)
      .filter((key) => modified[key] !== null)
      .toSorted();
  return patch;
}

interface Lists {
  readonly key: string;
  readonly original: readonly unknown[];
  readonly modified: readonly unknown[];
  readonly current: readonly unknown[];
}

/** Creates the part of a patch for a list of maps that are known by the value of one field. */
function itemsPatch(
  { key, original, modified, current }: Lists,
  mergeKey: string,
  item: BuiltinSchema | undefined,
  resolve: Resolve,
): Json {
  if (current.length === 0) return modified.length === 0 ? {} : { [key]: modified };
  const find = (list: readonly unknown[], id: unknown) =>
    list.filter(isMap).find((one) => String(one[mergeKey]) === String(id));
  const changed: unknown[] = [];
  for (const one of modified.filter(isMap)) {
    const id = one[mergeKey];
    const live = find(current, id);
    if (live === undefined) {
      changed.push(one);
      continue;
    }
    const inside = mapPatch(find(original, id) ?? {}, one, live, item, resolve, false);
    if (Object.keys(inside).length > 0) changed.push({ ...inside, [mergeKey]: id });
  }
  for (const one of original.filter(isMap)) {
    const id = one[mergeKey];
    if (find(modified, id) === undefined) changed.push({ $patch: 'delete', [mergeKey]: id });
  }
  const ids = (list: readonly unknown[]) => list.filter(isMap).map((one) => one[mergeKey]);
  if (changed.length === 0 && isEqual(ids(current), ids(modified))) return {};
  const order = ids(modified).map((id) => ({ [mergeKey]: id }));
  return {
    ...(changed.length > 0 && { [key]: changed }),
    ...(order.length > 0 && { [`$setElementOrder/${key}`]: order }),
  };
}

/** Creates the part of a patch for a list of scalars that are merged: finalizers. */
function scalarsPatch({ key, original, modified, current }: Lists): Json {
  const added = modified.filter((one) => !current.includes(one));
  const removed = original.filter((one) => !modified.includes(one));
  if (removed.length === 0 && isEqual(current, modified)) return {};
  return {
    ...(added.length > 0 && { [key]: added }),
    ...(removed.length > 0 && { [`$deleteFromPrimitiveList/${key}`]: removed }),
    ...(modified.length > 0 && { [`$setElementOrder/${key}`]: modified }),
  };
}

function fieldOf(schema: BuiltinSchema | undefined, key: string): BuiltinSchema | undefined {
  const { properties = {}, additionalProperties } = schema ?? {};
  return Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
}

function resolved(
  schema: BuiltinSchema | undefined,
  schemas: ReadonlyMap<string, BuiltinSchema>,
): BuiltinSchema | undefined {
  if (schema?.$ref === undefined) return schema;
  const target = resolved(schemas.get(schema.$ref), schemas);
  const { $ref: _reference, ...beside } = schema;
  return { ...target, ...beside };
}
