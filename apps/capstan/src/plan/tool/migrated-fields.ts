// kubectl moves an object that it applied client-side to server-side apply: the fields of the client-side manager become fields
// of the server-side one, and a second apply removes those that the manifest does not have. A dry run shows the first apply only.
import type { KubeObject } from '@capstan/kube';
import { ownsLastApplied } from './assumed-tool.ts';
import { isEqual, isMap, type Json } from './merge-patch.ts';

/** Returns the object without the fields that only client-side apply owned; the same object when there are none. */
export function withoutMigratedFields(applied: KubeObject): KubeObject {
  const { managedFields = [], ...metadata } = applied.metadata;
  const isMigrated = (entry: (typeof managedFields)[number]) =>
    entry.operation === 'Update' && !entry.subresource && ownsLastApplied(entry);
  const owners = (isWanted: (entry: (typeof managedFields)[number]) => boolean) =>
    managedFields.filter(isWanted).map(({ fieldsV1 = {} }) => fieldsV1);
  const migrated = owners(isMigrated);
  if (migrated.length === 0) return applied;
  const others = owners((entry) => !isMigrated(entry));
  const content = migrated.reduce<unknown>((value, fields) => without(value, fields, others), { ...applied, metadata });
  return isMap(content) ? (content as unknown as KubeObject) : applied;
}

/** Returns the value without the owned fields that no other owner has. An emptied map or list is undefined. */
function without(value: unknown, owned: Json, others: readonly Json[]): unknown {
  const inside = (key: string) => others.flatMap((fields) => (isMap(fields[key]) ? [fields[key]] : []));
  const next = (key: string, one: unknown) => {
    const fields = owned[key];
    const rest = inside(key);
    // Metadata and the last applied manifest belong to kubectl itself.
    if (!isMap(fields) || KEPT.has(key)) return one;
    const isKept = Object.keys(fields).some((path) => KEPT.has(path));
    const isOwned = !isKept && (Object.keys(fields).length === 0 || '.' in fields);
    if (isOwned && rest.length === 0) return undefined;
    return without(one, fields, rest);
  };
  if (isMap(value)) {
    const entries = Object.entries(value).map(([name, one]) => [name, next(`f:${name}`, one)] as const);
    const kept = entries.filter(([, one]) => one !== undefined);
    return kept.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(kept);
  }
  if (Array.isArray(value)) {
    const kept = value.flatMap((one: unknown) => {
      const key = Object.keys(owned).find((path) => names(path, one));
      const left = key === undefined ? one : next(key, one);
      return left === undefined ? [] : [left];
    });
    return kept.length === 0 && value.length > 0 ? undefined : kept;
  }
  return value;
}

const KEPT = new Set(['f:kubectl.kubernetes.io/last-applied-configuration', 'f:status', 'f:apiVersion', 'f:kind']);

/** Returns true when a path element names this item by its keys or by its value. */
function names(path: string, item: unknown): boolean {
  if (path.startsWith('v:')) return isEqual(JSON.parse(path.slice(2)), item);
  if (!path.startsWith('k:') || !isMap(item)) return false;
  const keys: unknown = JSON.parse(path.slice(2));
  return isMap(keys) && Object.entries(keys).every(([key, value]) => isEqual(item[key], value));
}
