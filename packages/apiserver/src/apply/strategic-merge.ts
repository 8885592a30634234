// Strategic merge patch: a merge patch that knows from the schema which lists are merged item by item, with directives for
// what a plain merge cannot say ($patch, $retainKeys, $setElementOrder/x, $deleteFromPrimitiveList/x).
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
import { badRequest, plainError } from '../errors.ts';
import { equalJson, isObject, type JsonObject, ownValue, setOwn, withoutNulls } from '../json/copy.ts';
import { DEDUCED, type FieldType, type MapType, type TypeSchema } from './type-schema.ts';

const ORDER = '$setElementOrder/';
const DELETE_PRIMITIVE = '$deleteFromPrimitiveList/';

/** The value as the patch wants it; nothing is changed in place. */
export function applyStrategicPatch(value: unknown, patch: JsonObject, type: TypeSchema | undefined): unknown {
  return mergeMap(isObject(value) ? value : {}, patch, mapOf(type ?? DEDUCED));
}

function mergeMap(original: JsonObject, patch: JsonObject, type: MapType | undefined): JsonObject {
  const { $patch: directive, $retainKeys: retain, ...changes } = patch;
  if (directive === 'replace') return withoutNulls(changes) as JsonObject;
  if (directive === 'delete') return {};
  if (directive !== undefined) throw badRequest(`unknown patch type: ${JSON.stringify(directive)}`);
  if (retain !== undefined) checkRetained(retain, changes);
  let result: JsonObject = { ...original };
  if (Array.isArray(retain)) {
    result = Object.fromEntries(Object.entries(result).filter(([key]) => retain.includes(key)));
  }
  for (const [key, items] of Object.entries(changes)) {
    if (!key.startsWith(DELETE_PRIMITIVE)) continue;
    const field = key.slice(DELETE_PRIMITIVE.length);
    const list = result[field];
    if (!Array.isArray(list) || !Array.isArray(items)) continue;
    result[field] = list.filter((one) => !items.some((other) => equalJson(one, other)));
  }
  for (const [key, change] of Object.entries(changes)) {
    if (key.startsWith('$')) continue;
    if (change === null) {
      delete result[key];
      continue;
    }
    const field = type?.field(key);
    const below = field?.type ?? type?.element;
    const order = changes[ORDER + key];
    const before = ownValue(result, key);
    if (shapeOf(before) !== shapeOf(change)) {
      const kept = keptWithoutDirectives(change);
      if (kept === undefined) delete result[key];
      else setOwn(result, key, Array.isArray(kept) ? ordered(kept, order, field?.patchMergeKey) : kept);
    } else if (isObject(before) && isObject(change)) {
      const [inside] = Object.keys(change);
      if (below?.shape === 'atomic' && !below.inside && inside !== undefined) {
        // What Kubernetes has no struct for cannot be merged.
        const field = JSON.stringify(inside);
        throw plainError(`unable to find api field in struct RawExtension for the json field ${field}`);
      }
      const replaces = field?.patchStrategy.includes('replace') === true;
      setOwn(result, key, replaces ? change : mergeMap(before, change, mapOf(below)));
    } else if (Array.isArray(before) && Array.isArray(change)) {
      setOwn(result, key, mergeList(before, change, field, order));
    } else setOwn(result, key, change);
  }
  for (const [key, order] of Object.entries(changes)) {
    if (!key.startsWith(ORDER)) continue;
    const name = key.slice(ORDER.length);
    const list = result[name];
    if (Array.isArray(list) && changes[name] === undefined)
      result[name] = ordered(list, order, type?.field(name)?.patchMergeKey);
  }
  return result;
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: FieldType | undefined,
  order: unknown,
): unknown[] {
  const merges = field?.patchStrategy.split(',').includes('merge') === true;
  if (!merges || !field) return [...patch];
  const key = field.patchMergeKey;
  if (key === undefined) {
    const added = patch.filter((one) => !original.some((other) => equalJson(one, other)));
    return ordered(placed([...original, ...added], patch, original, undefined), order, undefined);
  }
  if (patch.some((one) => isObject(one) && one['$patch'] === 'replace')) {
    return patch.filter((one) => !isObject(one) || one['$patch'] === undefined);
  }
  const { type } = field;
  const itemType = mapOf(type.shape === 'list-map' || type.shape === 'atomic' ? (type.item?.() ?? DEDUCED) : DEDUCED);
  let result = [...original];
  for (const change of patch) {
    if (!isObject(change)) throw badRequest('list element is not a map');
    const id = change[key];
    if (id === undefined)
      throw badRequest(`map: ${JSON.stringify(change)} does not contain declared merge key: ${key}`);
    const isSame = (one: unknown) => isObject(one) && equalJson(one[key], id);
    if (change['$patch'] === 'delete') result = result.filter((one) => !isSame(one));
    else {
      const at = result.findIndex(isSame);
      if (at < 0) result.push(mergeMap({}, change, itemType));
      else result[at] = mergeMap(result[at] as JsonObject, change, itemType);
    }
  }
  return ordered(placed(result, patch, original, key), order, key);
}

/**
 * What the patch names comes in the patch's order, and what only the server has goes in between where it was: before the
 * first that it stood before, at the end when there is none.
 */
function placed(
  list: readonly unknown[],
  patch: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const idOf = (one: unknown) => (key !== undefined && isObject(one) ? one[key] : one);
  const indexIn = (all: readonly unknown[], one: unknown) =>
    all.findIndex((other) => equalJson(idOf(other), idOf(one)));
  const named = list.filter((one) => indexIn(patch, one) >= 0).sort((a, b) => indexIn(patch, a) - indexIn(patch, b));
  const others = list.filter((one) => indexIn(patch, one) < 0);
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [left, right] = [indexIn(before, others[0]), indexIn(before, named[0])];
    result.push(left >= 0 && right >= 0 && left < right ? others.shift() : named.shift());
  }
  return [...result, ...named, ...others];
}

/** Items that the order names come in that order; the others keep their place relative to what came before them. */
function ordered(list: readonly unknown[], order: unknown, key: string | undefined): unknown[] {
  if (!Array.isArray(order)) return [...list];
  const idOf = (one: unknown) => (key !== undefined && isObject(one) ? one[key] : one);
  const position = (one: unknown) => order.findIndex((other) => equalJson(idOf(other), idOf(one)));
  const named = list.filter((one) => position(one) >= 0).sort((a, b) => position(a) - position(b));
  const result: unknown[] = [];
  let next = 0;
  for (const one of list) result.push(position(one) >= 0 ? named[next++] : one);
  return result;
}

function checkRetained(retain: unknown, changes: JsonObject): void {
  const isOdd = ([key, value]: [string, unknown]) =>
    value !== null &&
    !key.startsWith(DELETE_PRIMITIVE) &&
    !key.startsWith(ORDER) &&
    !(retain as unknown[]).includes(key);
  if (!Array.isArray(retain) || Object.entries(changes).some(isOdd)) {
    throw badRequest('invalid patch format of retainKeys');
  }
}

/** Values of different shapes are not merged: the patch replaces the value. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return isObject(value) ? 'map' : typeof value;
}

/**
 * A value of a patch with nothing to merge it with: nulls are removed, and so is every map that has a `$patch` directive,
 * because the directive refers to a value that does not exist. Undefined: nothing is left.
 */
function keptWithoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(keptWithoutDirectives).filter((one) => one !== undefined);
  if (!isObject(value)) return value;
  if (value['$patch'] !== undefined) return undefined;
  const kept: JsonObject = {};
  for (const [key, part] of Object.entries(value)) {
    const rest = part === null ? undefined : keptWithoutDirectives(part);
    if (rest !== undefined) setOwn(kept, key, rest);
  }
  return kept;
}

function mapOf(type: TypeSchema | undefined): MapType | undefined {
  if (type?.shape === 'map') return type;
  return type?.shape === 'atomic' ? type.inside : undefined;
}
