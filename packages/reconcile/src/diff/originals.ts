// The values in the fields of a foreign object before we patched them, kept in an annotation on that object. A path leads through items of
// lists, and those move when a client inserts, removes or sorts. So each original records the items on its path, and is followed to their
// present places. A value whose place cannot be found any more is not restored.
import { hash } from 'node:crypto';
import { canonicalJson, equal, formatPointer, type KubeObject, parsePointer } from '@capstan/kube/cluster';
import type { FieldValue } from '../plan/index.ts';

export interface Original {
  /** Not there: the field was not either. */
  readonly before?: unknown;
  /** The value that we set; absent when we removed the field. */
  readonly ours?: unknown;
  /** The items of lists on the way, outermost first. */
  readonly through?: readonly string[];
}

/** By path, as JSON pointers. */
export type Originals = Readonly<Record<string, Original>>;

/** The originals that an annotation holds, at the paths where their fields are now. */
export function readOriginals(target: KubeObject, annotation: string): Originals {
  const text = target.metadata.annotations?.[annotation];
  if (text === undefined) return {};
  const found: Record<string, Original> = {};
  for (const [path, original] of Object.entries(parse(text))) {
    const place = follow(target, path, original.through ?? []);
    if (place !== undefined) found[place] = original;
  }
  return found;
}

/** The original of a field that is about to be set to `ours`. */
export function originalOf(target: KubeObject, { path, value }: FieldValue, known: Original | undefined): Original {
  const current = valueAt(target, path);
  // If another client has changed the field since, its value is the one to restore.
  const before = known !== undefined && equal(current, known.ours) ? known.before : current;
  const through = itemsOn(target, path);
  return {
    ...(before === undefined ? {} : { before }),
    ...(value === undefined ? {} : { ours: value }),
    ...(through.length > 0 ? { through } : {}),
  };
}

/** The value at a JSON pointer, or undefined. */
export function valueAt(object: unknown, pointer: FieldValue['path']): unknown {
  return (parsePointer(pointer) ?? []).reduce<unknown>(partOf, object);
}

/** Returns the member of an object, or the item of a list; inherited members do not count. */
export function partOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  if (Array.isArray(value) && !INDEX.test(name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

const INDEX = /^(0|[1-9]\d*)$/;

function parse(text: string): Originals {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Originals) : {};
  } catch {
    // The annotation was changed by another client: it cannot be used.
    return {};
  }
}

function itemsOn(target: KubeObject, path: string): string[] {
  const names = parsePointer(path) ?? [];
  const items: string[] = [];
  let value: unknown = target;
  for (const [at, name] of names.entries()) {
    const part = partOf(value, name);
    if (Array.isArray(value) && at < names.length - 1) items.push(itemId(part, names.at(-1) ?? ''));
    value = part;
  }
  return items;
}

/** Where a path leads now that items may have moved; undefined when one of them is gone. */
function follow(target: KubeObject, path: string, through: readonly string[]): string | undefined {
  const names = parsePointer(path) ?? [];
  const place: string[] = [];
  let value: unknown = target;
  let step = 0;
  for (const [at, name] of names.entries()) {
    let found = name;
    if (Array.isArray(value) && at < names.length - 1) {
      const index = whereIs(value, through[step++], Number(name), names.at(-1) ?? '');
      if (index === undefined) return undefined;
      found = String(index);
    }
    place.push(found);
    value = partOf(value, found);
  }
  return formatPointer(place);
}

/**
 * Where an item is: where it was or elsewhere, unchanged but for fields of the patched name; else by its name; else, having
 * no name, where it was, taken as edited in place.
 */
function whereIs(list: readonly unknown[], id: string | undefined, was: number, field: string): number | undefined {
  if (id === undefined) return was < list.length ? was : undefined;
  const ids = list.map((item) => itemId(item, field));
  const [digest, name] = split(id);
  const exact = only(ids, was, (each) => each === id);
  if (exact !== undefined) return exact;
  if (name !== '') return only(ids, was, (each) => split(each)[1] === name);
  return ids.some((each) => split(each)[0] === digest) || was >= list.length ? undefined : was;
}

/** The place itself if it fits, else the only other one that does. */
function only(ids: readonly string[], was: number, fits: (id: string) => boolean): number | undefined {
  const at = ids[was];
  if (at !== undefined && fits(at)) return was;
  const all = ids.flatMap((id, index) => (fits(id) ? [index] : []));
  return all.length === 1 ? all[0] : undefined;
}

/** `digest:name`: the item without fields of the patched name, and its name if it has one. */
function itemId(item: unknown, field: string): string {
  const name = partOf(item, 'name');
  return `${hash('sha256', canonicalJson(without(item, field)), 'hex').slice(0, 8)}:${typeof name === 'string' ? name : ''}`;
}

function split(id: string): [digest: string, name: string] {
  const colon = id.indexOf(':');
  return [id.slice(0, colon), id.slice(colon + 1)];
}

function without(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, field));
  if (typeof value !== 'object' || value === null) return value;
  const others = Object.entries(value).filter(([name]) => name !== field);
  return Object.fromEntries(others.map(([name, part]) => [name, without(part, field)]));
}
