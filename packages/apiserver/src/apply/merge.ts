import { isObject, type JsonObject, ownValue, setOwn } from '../json/copy.ts';
import type { ListMapType, MapType, SetType, TypeSchema } from './type-schema.ts';
import { edgesOf, partsOf, typeOfKey } from './typed-value.ts';

/**
 * Lays the applied object over the live one: leaves are replaced, and parts that were not applied stay. A null has no parts, so it removes
 * nothing from a map or a list that has some.
 */
export function mergeTyped(type: TypeSchema, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  if (applied === null) return hasParts(type, live) ? live : applied;
  const parts = partsOf(type, applied);
  if (parts.by === 'keys') return isObject(live) ? mergeKeys(parts.type, live, applied as JsonObject) : applied;
  if (parts.by === 'items') return Array.isArray(live) ? mergeItems(parts.type, live, applied as unknown[]) : applied;
  return applied;
}

function hasParts(type: TypeSchema, live: unknown): boolean {
  if (Array.isArray(live)) return live.length > 0 && partsOf(type, live).by === 'items';
  return isObject(live) && Object.keys(live).length > 0 && partsOf(type, live).by === 'keys';
}

function mergeKeys(type: MapType, live: JsonObject, applied: JsonObject): JsonObject {
  const result: JsonObject = { ...live };
  for (const key of Object.keys(applied)) {
    setOwn(result, key, mergeTyped(typeOfKey(type, key), ownValue(live, key), applied[key]));
  }
  return result;
}

/**
 * Items that are only live keep their place before the next item that both have; the applied list decides the order of
 * its own items. An item that both have is merged where it was applied.
 */
function mergeItems(type: ListMapType | SetType, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const left = edgesOf(type, live);
  const right = edgesOf(type, applied);
  const liveByEdge = new Map(left.map((edge, index) => [edge, live[index]]));
  const inApplied = new Set(right);
  const shared = right.filter((edge) => liveByEdge.has(edge));
  const merged = new Set<string>();
  const result: unknown[] = [];
  let [l, r, next] = [0, 0, 0];
  const takeApplied = () => {
    const edge = right[r] ?? '';
    result.push(mergeTyped(type.item(), liveByEdge.get(edge), applied[r]));
    merged.add(edge);
    if (shared[next] === edge) next += 1;
    r += 1;
  };
  while (l < left.length || r < right.length) {
    const edge = left[l];
    if (edge !== undefined && r < right.length) {
      if (edge === right[r]) {
        takeApplied();
        l += 1;
        continue;
      }
      if (inApplied.has(edge) && shared[next] !== undefined && shared[next] !== edge) {
        l += 1;
        continue;
      }
    }
    if (edge !== undefined) {
      if (!inApplied.has(edge)) {
        result.push(live[l]);
        l += 1;
        continue;
      }
      if (merged.has(edge)) l += 1;
    }
    if (r < right.length) takeApplied();
  }
  return result;
}
