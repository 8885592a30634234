// Server-side apply removes the fields that the same manager applied before and does not send any more.
import { equal, isRecord, type KubeObject } from '@capstan/kube/cluster';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the object without the fields that only this manager owns and `body` does not have. */
export function withoutDropped(existing: KubeObject, body: KubeObject, manager: string): KubeObject {
  const entry = existing.metadata.managedFields?.find((one) => one.manager === manager && one.operation === 'Apply');
  const fields = entry?.fieldsV1;
  if (fields === undefined || Object.keys(fields).length === 0) return existing;
  const others = existing.metadata.managedFields?.filter((one) => one !== entry) ?? [];
  const owners = others.flatMap(({ fieldsV1 }): Fields[] => (fieldsV1 === undefined ? [] : [fieldsV1]));
  const left = without(existing, fields, body, owners);
  return isRecord(left) ? { ...(left as unknown as KubeObject), metadata: metadataOf(existing, left) } : existing;
}

/** The fields of metadata that only the server sets are never in a body. */
function metadataOf({ metadata }: KubeObject, left: Readonly<Record<string, unknown>>): KubeObject['metadata'] {
  return {
    ...(left['metadata'] as KubeObject['metadata']),
    ...(metadata.name !== undefined && { name: metadata.name }),
  };
}

function without(value: unknown, owned: Fields, body: unknown, others: readonly Fields[]): unknown {
  const inside = (path: string) => others.flatMap((fields) => (isRecord(fields[path]) ? [fields[path]] : []));
  if (isRecord(value)) {
    const sent = isRecord(body) ? body : {};
    const entries = Object.entries(value).map(
      ([name, one]) => [name, left(owned[`f:${name}`], one, sent[name], inside(`f:${name}`))] as const,
    );
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  }
  if (!Array.isArray(value)) return value;
  const sent: readonly unknown[] = Array.isArray(body) ? body : [];
  return value.flatMap((one: unknown) => {
    const path = Object.keys(owned).find((name) => names(name, one));
    if (path === undefined) return [one];
    const item = sent.find((candidate) => names(path, candidate)) ?? sent.find((candidate) => mayName(path, candidate));
    // The server removes the whole item, with its defaults, when it has no owner any more.
    if (item === undefined && isItem(owned[path]) && inside(path).length === 0) return [];
    const kept = left(owned[path], one, item, inside(path));
    return kept === undefined ? [] : [kept];
  });
}

/**
 * A field that is sent stays, without the parts that are dropped inside it. One that is not sent goes with all its parts that only we own.
 */
function left(fields: unknown, value: unknown, sent: unknown, others: readonly Fields[]): unknown {
  if (!isRecord(fields)) return value;
  if (sent === undefined && isWhole(fields, value)) return others.length > 0 ? value : undefined;
  const kept = without(value, fields, sent, others);
  const isEmptied = sent === undefined && others.length === 0 && isRecord(kept) && Object.keys(kept).length === 0;
  return isEmptied ? undefined : kept;
}

const isItem = (fields: unknown) => isRecord(fields) && '.' in fields;

/** Whether all of a value is ours: it is one field, or everything in it is. */
function isWhole(fields: Fields, value: unknown): boolean {
  const names = Object.keys(fields).filter((name) => name !== '.');
  return names.length === 0 || (!isRecord(value) && !Array.isArray(value));
}

function names(path: string, item: unknown): boolean {
  if (path.startsWith('v:')) return equal(JSON.parse(path.slice(2)), item);
  if (!path.startsWith('k:') || !isRecord(item)) return false;
  const keys: unknown = JSON.parse(path.slice(2));
  return isRecord(keys) && Object.entries(keys).every(([key, value]) => equal(item[key], value));
}

/** Whether an item has some keys of the path and no other value of the rest: the server fills in defaults of keys (protocol TCP). */
function mayName(path: string, item: unknown): boolean {
  if (!path.startsWith('k:') || !isRecord(item)) return false;
  const keys: unknown = JSON.parse(path.slice(2));
  if (!isRecord(keys)) return false;
  const given = Object.entries(keys).filter(([key]) => item[key] !== undefined);
  return given.length > 0 && given.every(([key, value]) => equal(item[key], value));
}
