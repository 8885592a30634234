// Whether the fields that we sent are still ours, from our own managedFields entry alone: no schema is needed, because the
// entry itself shows which lists are maps (`k:`), sets (`v:`) or atomic (a leaf).
//
// It cannot detect one case: in parts without a schema, a nested map from which a client removed our fields looks like an
// atomic one. A change there is noticed with the next change of the plan, not before.
import { equal, type KubeObject, type ManagedFieldsEntry } from '@capstan/kube/cluster';

type FieldSet = Record<string, unknown>;

/**
 * The paths of `sent` that the entry no longer holds: another client changed or took them. Empty values are passed over, since
 * servers drop them; so are the yielded paths. At most `limit` paths; `.` alone when there is no entry at all.
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
  if (isLeaf(owned)) return;
  if (Array.isArray(value)) {
    walkList(value, owned, path, state);
    return;
  }
  for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
    if (isEmpty(field)) continue;
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (!state.yields.includes(fieldPath)) visit(field, owned[`f:${name}`], fieldPath, state);
  }
}

function walkList(items: readonly unknown[], owned: FieldSet, path: string, state: Walk): void {
  const keys = Object.keys(owned);
  const names = keyNames(keys);
  for (const [index, item] of items.entries()) {
    const key = exactKey(item, names, owned) ?? keys.find((candidate) => isItem(candidate, item));
    visit(item, key === undefined ? undefined : owned[key], `${path}[${index}]`, state);
  }
}

/** The fields that identify the items of this list, in the order in which the set writes them. */
function keyNames(keys: readonly string[]): readonly string[] {
  const first = keys.find((key) => key.startsWith('k:'));
  return first === undefined ? [] : Object.keys(JSON.parse(first.slice(2)) as FieldSet);
}

/** The key of an item that has all of its fields, without a look at the others: long lists are walked often. */
function exactKey(item: unknown, names: readonly string[], owned: FieldSet): string | undefined {
  let key = `v:${JSON.stringify(item)}`;
  if (typeof item === 'object' && item !== null) {
    if (names.some((name) => (item as FieldSet)[name] === undefined)) return undefined;
    key = `k:${JSON.stringify(Object.fromEntries(names.map((name) => [name, (item as FieldSet)[name]])))}`;
  }
  return Object.hasOwn(owned, key) ? key : undefined;
}

function visit(value: unknown, owned: unknown, path: string, state: Walk): void {
  if (owned !== undefined) {
    if (typeof value === 'object' && value !== null) walk(value, owned as FieldSet, path, state);
  } else if (state.taken.length < state.limit) state.taken.push(path);
}

/** Whether a key of the set, `k:{"name":"main"}` or `v:"a"`, stands for this item. */
function isItem(key: string, item: unknown): boolean {
  if (key.startsWith('v:')) return equal(JSON.parse(key.slice(2)), item);
  if (!key.startsWith('k:') || typeof item !== 'object' || item === null) return false;
  // A key field that we did not send was filled in by the server's default (a port's protocol), so it matches anything.
  return Object.entries(JSON.parse(key.slice(2)) as FieldSet).every(([name, value]) => {
    const sent = (item as FieldSet)[name];
    return sent === undefined || sent === value;
  });
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
