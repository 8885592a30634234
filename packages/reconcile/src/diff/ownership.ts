// Whether the fields that we sent are still ours, from our own managedFields entry alone: no schema is needed, because the
// entry itself says which lists are maps (`k:`), sets (`v:`) or atomic (a leaf).
import type { KubeObject, ManagedFieldsEntry } from '@capstan/kube';

type FieldSet = Record<string, unknown>;

/** Our entry of server-side apply on the object, if it has one. */
export function appliedEntry(object: Pick<KubeObject, 'metadata'>, manager: string): ManagedFieldsEntry | undefined {
  return object.metadata.managedFields?.find(
    (entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource,
  );
}

/**
 * The paths of `sent` that the entry no longer holds: somebody changed or took them. Empty values are passed over, since
 * servers drop them; so are the yielded paths. At most `limit` paths.
 */
export function takenFields(
  sent: KubeObject,
  entry: ManagedFieldsEntry | undefined,
  yields: readonly string[] = [],
  limit = 10,
): string[] {
  if (entry?.fieldsV1 === undefined) return ['.'];
  const taken: string[] = [];
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = sent as KubeObject & Record<string, unknown>;
  const { name: _name, namespace: _namespace, ...mutable } = metadata;
  walk({ ...rest, metadata: mutable }, entry.fieldsV1, '', { taken, yields, limit });
  return taken;
}

interface Walk {
  taken: string[];
  yields: readonly string[];
  limit: number;
}

function walk(value: unknown, owned: FieldSet, path: string, state: Walk): void {
  if (state.taken.length >= state.limit || isLeaf(owned)) return;
  if (Array.isArray(value)) {
    walkList(value, owned, path, state);
    return;
  }
  for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
    if (isEmpty(field)) continue;
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (state.yields.includes(fieldPath)) continue;
    const below = owned[`f:${name}`];
    if (below === undefined) state.taken.push(fieldPath);
    else if (typeof field === 'object' && field !== null) walk(field, below as FieldSet, fieldPath, state);
  }
}

function walkList(items: readonly unknown[], owned: FieldSet, path: string, state: Walk): void {
  const keys = Object.keys(owned);
  for (const [index, item] of items.entries()) {
    const itemPath = `${path}[${index}]`;
    const below =
      typeof item === 'object' && item !== null
        ? owned[keys.find((key) => key.startsWith('k:') && matchesKey(key, item as FieldSet)) ?? '']
        : owned[`v:${JSON.stringify(item)}`];
    if (below === undefined) state.taken.push(itemPath);
    else if (typeof item === 'object' && item !== null) walk(item, below as FieldSet, itemPath, state);
  }
}

/** A key field that we did not send was filled in by the server's default (a port's protocol), so it matches anything. */
function matchesKey(key: string, item: FieldSet): boolean {
  const fields = JSON.parse(key.slice(2)) as FieldSet;
  return Object.entries(fields).every(([name, value]) => item[name] === undefined || item[name] === value);
}

/** An entry of its own with nothing below it: an atomic value, owned as a whole. */
function isLeaf(owned: FieldSet): boolean {
  for (const key in owned) if (key !== '.') return false;
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  for (const _ in value) return false;
  return true;
}
