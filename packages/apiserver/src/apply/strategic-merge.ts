// Strategic merge patch: a merge patch that takes from the schema which lists are merged item by item, with directives for operations that
// a plain merge cannot express ($patch, $retainKeys, $setElementOrder/x, $deleteFromPrimitiveList/x).
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
import { canonicalJson } from '@capstan/kube';
import { badRequest, requestError } from '../errors.ts';
import { isObject, type JsonObject, ownValue, setOwn, withoutNulls } from '../json/copy.ts';
import { DEDUCED, type FieldType, type MapType, type TypeSchema } from './type-schema.ts';

const ORDER = '$setElementOrder/';
const DELETE_PRIMITIVE = '$deleteFromPrimitiveList/';

/** The value as the patch wants it; nothing is changed in place. */
export function applyStrategicPatch(value: unknown, patch: JsonObject, type: TypeSchema | undefined): unknown {
  return mergeMap(isObject(value) ? value : {}, patch, mapOf(type ?? DEDUCED));
}

function mergeMap(original: JsonObject, patch: JsonObject, type: MapType | undefined): JsonObject {
  const { $patch: directive, $retainKeys: retain } = patch;
  const changes = directive === undefined && retain === undefined ? patch : withoutOwnDirectives(patch);
  if (directive === 'replace') return withoutNulls(changes) as JsonObject;
  if (directive === 'delete') return {};
  if (directive !== undefined) throw badRequest(`unknown patch type: ${JSON.stringify(directive)}`);
  if (retain !== undefined) checkRetained(retain, changes);
  let result: JsonObject = { ...original };
  if (Array.isArray(retain)) {
    const retained = new Set<unknown>(retain);
    result = Object.fromEntries(Object.entries(result).filter(([key]) => retained.has(key)));
  }
  // Most maps have no directives: those of a large one would be looked for under each of its keys.
  const directives = Object.keys(changes).filter((key) => key.startsWith('$'));
  for (const key of directives) {
    const items = changes[key];
    if (!key.startsWith(DELETE_PRIMITIVE)) continue;
    const field = key.slice(DELETE_PRIMITIVE.length);
    const list = result[field];
    if (!Array.isArray(list) || !Array.isArray(items)) continue;
    const deleted = new Set(items.map(canonicalJson));
    result[field] = list.filter((one) => !deleted.has(canonicalJson(one)));
  }
  for (const key of Object.keys(changes)) {
    if (key.startsWith('$')) continue;
    const change = changes[key];
    if (change === null) {
      delete result[key];
      continue;
    }
    const field = type?.field(key);
    const below = field?.type ?? type?.element;
    const order = directives.length > 0 ? changes[ORDER + key] : undefined;
    const before = ownValue(result, key);
    if (shapeOf(before) !== shapeOf(change)) {
      const kept = keptWithoutDirectives(change);
      if (kept === undefined) delete result[key];
      else setOwn(result, key, Array.isArray(kept) ? ordered(kept, order, field?.patchMergeKey) : kept);
    } else if (isObject(before) && isObject(change)) {
      const [inside] = Object.keys(change);
      if (below?.shape === 'atomic' && !below.inside && inside !== undefined) {
        // A field without a struct in Kubernetes cannot be merged.
        const field = JSON.stringify(inside);
        throw requestError(`unable to find api field in struct RawExtension for the json field ${field}`);
      }
      const replaces = field?.patchStrategy.includes('replace') === true;
      setOwn(result, key, replaces ? change : mergeMap(before, change, mapOf(below)));
    } else if (Array.isArray(before) && Array.isArray(change)) {
      setOwn(result, key, mergeList(before, change, field, order));
    } else setOwn(result, key, change);
  }
  for (const key of directives) {
    const order = changes[key];
    if (!key.startsWith(ORDER)) continue;
    const name = key.slice(ORDER.length);
    const list = result[name];
    if (Array.isArray(list) && changes[name] === undefined)
      result[name] = ordered(list, order, type?.field(name)?.patchMergeKey);
  }
  return result;
}

function withoutOwnDirectives({ $patch: _patch, $retainKeys: _retain, ...changes }: JsonObject): JsonObject {
  return changes;
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
    const known = new Set(original.map(canonicalJson));
    const added = patch.filter((one) => !known.has(canonicalJson(one)));
    return ordered(placed([...original, ...added], patch, original, undefined), order, undefined);
  }
  if (patch.some((one) => isObject(one) && one['$patch'] === 'replace')) {
    return patch.filter((one) => !isObject(one) || one['$patch'] === undefined);
  }
  const { type } = field;
  const itemType = mapOf(type.shape === 'list-map' || type.shape === 'atomic' ? (type.item?.() ?? DEDUCED) : DEDUCED);
  // Removed items are undefined until the end, so that the places of the others stay valid.
  const result: unknown[] = [...original];
  const places = placesOf(original, key);
  for (const change of patch) {
    if (!isObject(change)) throw badRequest('list element is not a map');
    const id = change[key];
    if (id === undefined)
      throw badRequest(`map: ${JSON.stringify(change)} does not contain declared merge key: ${key}`);
    const name = canonicalJson(id);
    const known = places.get(name);
    if (change['$patch'] === 'delete') {
      for (const place of known ?? []) result[place] = undefined;
      places.delete(name);
    } else if (known?.[0] === undefined) {
      places.set(name, [result.length]);
      result.push(mergeMap({}, change, itemType));
    } else result[known[0]] = mergeMap(result[known[0]] as JsonObject, change, itemType);
  }
  const kept = result.filter((one) => one !== undefined);
  return ordered(placed(kept, patch, original, key), order, key);
}

/** The places of the items of a list that are maps, by the text of their merge key. */
function placesOf(list: readonly unknown[], key: string): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [index, item] of list.entries()) {
    if (!isObject(item) || item[key] === undefined) continue;
    const name = canonicalJson(item[key]);
    const known = places.get(name);
    if (known) known.push(index);
    else places.set(name, [index]);
  }
  return places;
}

/** Returns a function that finds the first item of a list with the same key, or -1. */
function indexOfSame(list: readonly unknown[], key: string | undefined): (one: unknown) => number {
  const nameOf = (one: unknown) => {
    const id = key !== undefined && isObject(one) ? one[key] : one;
    return id === undefined ? '' : canonicalJson(id);
  };
  const places = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const name = nameOf(item);
    if (!places.has(name)) places.set(name, index);
  }
  return (one) => places.get(nameOf(one)) ?? -1;
}

/**
 * Items of the patch come in the patch's order. Items that only the server has keep their place before the item that followed them, or
 * stand at the end if there is none.
 */
function placed(
  list: readonly unknown[],
  patch: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const inPatch = indexOfSame(patch, key);
  const inOriginal = indexOfSame(before, key);
  const entries = list.map((one) => ({ one, wanted: inPatch(one), was: inOriginal(one) }));
  const named = entries.filter(({ wanted }) => wanted >= 0).sort((a, b) => a.wanted - b.wanted);
  const others = entries.filter(({ wanted }) => wanted < 0);
  const result: unknown[] = [];
  let next = 0;
  for (const { one, was } of named) {
    for (let other = others[next]; other && other.was >= 0 && was >= 0 && other.was < was; other = others[next]) {
      result.push(other.one);
      next += 1;
    }
    result.push(one);
  }
  return [...result, ...others.slice(next).map(({ one }) => one)];
}

/** Items that the order names come in that order; the others keep their place relative to their predecessors. */
function ordered(list: readonly unknown[], order: unknown, key: string | undefined): unknown[] {
  if (!Array.isArray(order)) return [...list];
  const positionOf = indexOfSame(order, key);
  const entries = list.map((one) => ({ one, position: positionOf(one) }));
  const named = entries.filter(({ position }) => position >= 0).sort((a, b) => a.position - b.position);
  let next = 0;
  return entries.map(({ one, position }) => (position >= 0 ? named[next++]?.one : one));
}

function checkRetained(retain: unknown, changes: JsonObject): void {
  const retained = new Set<unknown>(Array.isArray(retain) ? retain : []);
  const isOdd = ([key, value]: [string, unknown]) =>
    value !== null && !key.startsWith(DELETE_PRIMITIVE) && !key.startsWith(ORDER) && !retained.has(key);
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
