import { equalJson, isObject, type JsonObject } from '../json/copy.ts';
import { childOf, type FieldSet, type FieldSetBuilder, finish, isEmpty, newBuilder } from './field-set.ts';
import type { ListMapType, MapType, SetType, TypeSchema } from './type-schema.ts';
import { edgesOf, partsOf, typeOfKey } from './typed-value.ts';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export const isSame = ({ added, modified, removed }: Comparison) =>
  isEmpty(added) && isEmpty(modified) && isEmpty(removed);

/** The fields in which two states of an object differ. A part that came or went is in the result with all of its parts. */
export function compare(type: TypeSchema, before: JsonObject, after: JsonObject): Comparison {
  const sets = { added: newBuilder(), modified: newBuilder(), removed: newBuilder() };
  const parts = partsOf(type, after);
  if (parts.by === 'keys') compareKeys(parts.type, before, after, sets);
  return { added: finish(sets.added), modified: finish(sets.modified), removed: finish(sets.removed) };
}

interface Sets {
  added: FieldSetBuilder;
  modified: FieldSetBuilder;
  removed: FieldSetBuilder;
}

const below = (sets: Sets, edge: string): Sets => ({
  added: childOf(sets.added, edge),
  modified: childOf(sets.modified, edge),
  removed: childOf(sets.removed, edge),
});

function compareKeys(type: MapType, before: unknown, after: unknown, sets: Sets): void {
  const left = isObject(before) ? before : {};
  const right = isObject(after) ? after : {};
  for (const key of Object.keys(left)) compareKey(type, key, before, after, sets);
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key)) compareKey(type, key, before, after, sets);
}

function compareKey(type: MapType, key: string, before: unknown, after: unknown, sets: Sets): void {
  const unset = type.field(key)?.unset;
  const left = isObject(before) ? valueOf(before, key, unset) : undefined;
  const right = isObject(after) ? valueOf(after, key, unset) : undefined;
  compareAt(typeOfKey(type, key), left, right, `f:${key}`, sets);
}

function valueOf(object: JsonObject, key: string, unset: object | null | undefined): unknown {
  return object[key] === undefined ? unset : object[key];
}

function compareItems(type: ListMapType | SetType, before: unknown, after: unknown, sets: Sets): void {
  const left = grouped(type, before);
  const right = grouped(type, after);
  for (const edge of new Set([...left.keys(), ...right.keys()])) {
    const [a, ...moreA] = left.get(edge) ?? [];
    const [b, ...moreB] = right.get(edge) ?? [];
    if (moreA.length === 0 && moreB.length === 0) {
      compareAt(type.item(), a, b, edge, sets);
      continue;
    }
    // Duplicates cannot be told apart: the group is one leaf.
    if (equalJson(left.get(edge), right.get(edge))) continue;
    if (a === undefined) sets.added.members.add(edge);
    else if (b === undefined) sets.removed.members.add(edge);
    else sets.modified.members.add(edge);
  }
}

function grouped(type: ListMapType | SetType, list: unknown): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  if (!Array.isArray(list)) return groups;
  const edges = edgesOf(type, list);
  for (const [index, item] of list.entries()) {
    const edge = edges[index] ?? '';
    const group = groups.get(edge);
    if (group) group.push(item);
    else groups.set(edge, [item]);
  }
  return groups;
}

/** `undefined` is absent. Adds to the sets of the parent. */
function compareAt(type: TypeSchema, before: unknown, after: unknown, edge: string, sets: Sets): void {
  if (before === after) return;
  const parts = partsOf(type, after ?? before);
  const other = partsOf(type, before ?? after);
  const hollow = isHollow(before) && isHollow(after);
  if (parts.by === 'leaf' || hollow || parts.by !== other.by) {
    if (parts.by !== other.by && !hollow) compareParts(other, before, undefined, edge, sets);
    if (before === undefined) sets.added.members.add(edge);
    else if (after === undefined) sets.removed.members.add(edge);
    else if (!equalJson(before, after)) sets.modified.members.add(edge);
    if (parts.by !== other.by && !hollow) compareParts(parts, undefined, after, edge, sets);
    return;
  }
  compareParts(parts, before, after, edge, sets);
  if (before === undefined) sets.added.members.add(edge);
  else if (after === undefined) sets.removed.members.add(edge);
}

function compareParts(
  parts: ReturnType<typeof partsOf>,
  before: unknown,
  after: unknown,
  edge: string,
  sets: Sets,
): void {
  if (parts.by === 'keys') compareKeys(parts.type, before, after, below(sets, edge));
  else if (parts.by === 'items') compareItems(parts.type, before, after, below(sets, edge));
}

/** Nothing inside: such values are compared as a whole, which keeps null and empty apart. */
function isHollow(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}
