// JSON merge patches as kubectl and Helm create them for custom resources: the fields that the tool wrote before and no longer
// has are removed, and the fields of the manifest are set. Fields that neither has stay as they are.
import { canonicalJson } from '@capstan/kube';

export type Json = Record<string, unknown>;

/** Creates the patch of `kubectl apply`: deletions from the last applied manifest, changes from the live object. */
export function threeWayMergePatch(original: Json, modified: Json, current: Json): Json {
  const patch: Json = {};
  for (const [key, value] of Object.entries(modified)) {
    if (value === null) continue;
    const [before, live] = [original[key], current[key]];
    if (isMap(value) && isMap(live)) {
      const inside = threeWayMergePatch(isMap(before) ? before : {}, value, live);
      if (Object.keys(inside).length > 0) patch[key] = inside;
    } else if (!isEqual(value, live)) patch[key] = value;
  }
  for (const [key, before] of Object.entries(original)) {
    const isGone = (modified[key] ?? null) === null && before !== null;
    if (isGone) patch[key] = null;
  }
  return patch;
}

/** Creates the patch of Helm for custom resources: it compares the manifests of two releases and not the live object. */
export function twoWayMergePatch(original: Json, modified: Json): Json {
  const patch: Json = {};
  for (const [key, value] of Object.entries(modified)) {
    const before = original[key];
    if (isMap(value) && isMap(before)) {
      const inside = twoWayMergePatch(before, value);
      if (Object.keys(inside).length > 0) patch[key] = inside;
    } else if (!(key in original) || !isEqual(value, before)) patch[key] = value;
  }
  for (const key of Object.keys(original)) if (!(key in modified)) patch[key] = null;
  return patch;
}

export function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  return left !== undefined && right !== undefined && canonicalJson(left) === canonicalJson(right);
}
