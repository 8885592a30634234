import { equalJson, isObject, type JsonObject } from '../json/copy.ts';
import { childOf, type FieldSet, type FieldSetBuilder, isEmpty, newBuilder } from './field-set.ts';
import type { ListMapType, MapType, SetType, TypeSchema } from './type-schema.ts';
import { edgesOf, partsOf, typeOfKey } from './typed-value.ts';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export const isSame = ({ added, modified, removed }: Comparison) =>
  isEmpty(added) && isEmpty(modified) && isEmpty(removed);

/**
 * The fields in which two states of an object differ. A part that came or went is in the result with all of its parts. A field
 * that Go always writes is not missed where it has nothing in it, unless `seesRemoved`: an apply that leaves it out takes it
 * away before Go writes it again.
 */
export function compare(
  type: TypeSchema,
  before: JsonObject,
  after: JsonObject,
  { seesRemoved = false } = {},
): Comparison {
  const sets: Sets = {
    edge: '',
    above: undefined,
    seesRemoved,
    added: newBuilder(),
    modified: newBuilder(),
    removed: newBuilder(),
  };
  const parts = partsOf(type, after);
  if (parts.by === 'keys') compareKeys(parts.type, before, after, sets);
  return sets as Comparison;
}

type Change = 'added' | 'modified' | 'removed';

/** The three sets at one place. Most places have no difference, so their sets are made when something is put in. */
interface Sets {
  readonly edge: string;
  readonly above: Sets | undefined;
  readonly seesRemoved: boolean;
  added: FieldSetBuilder | undefined;
  modified: FieldSetBuilder | undefined;
  removed: FieldSetBuilder | undefined;
}

const below = (above: Sets, edge: string): Sets => ({
  edge,
  above,
  seesRemoved: above.seesRemoved,
  added: undefined,
  modified: undefined,
  removed: undefined,
});

function put(sets: Sets, change: Change, edge: string): void {
  at(sets, change).members.add(edge);
}

function at(sets: Sets, change: Change): FieldSetBuilder {
  const known = sets[change];
  if (known) return known;
  const made = sets.above ? childOf(at(sets.above, change), sets.edge) : newBuilder();
  sets[change] = made;
  return made;
}

function compareKeys(type: MapType, before: unknown, after: unknown, sets: Sets): void {
  const left = isObject(before) ? before : undefined;
  if (left) for (const key of Object.keys(left)) compareKey(type, key, before, after, sets);
  if (!isObject(after)) return;
  for (const key of Object.keys(after))
    if (!left || !Object.hasOwn(left, key)) compareKey(type, key, before, after, sets);
}

function compareKey(type: MapType, key: string, before: unknown, after: unknown, sets: Sets): void {
  const unset = type.field(key)?.unset;
  const left = isObject(before) ? valueOf(before, key, unset) : undefined;
  const isGone = sets.seesRemoved && isObject(before) && before[key] !== undefined;
  const right = isObject(after) ? valueOf(after, key, isGone ? undefined : unset) : undefined;
  compareAt(typeOfKey(type, key), left, right, `f:${key}`, sets);
}

function valueOf(object: JsonObject, key: string, unset: unknown): unknown {
  return object[key] === undefined ? unset : object[key];
}

function compareItems(type: ListMapType | SetType, before: unknown, after: unknown, sets: Sets): void {
  if (before === after) return;
  const left = grouped(type, before);
  const right = grouped(type, after);
  for (const edge of new Set([...left.keys(), ...right.keys()])) {
    const [a, ...moreA] = left.get(edge) ?? [];
    const [b, ...moreB] = right.get(edge) ?? [];
    if (moreA.length === 0 && moreB.length === 0) {
      compareAt(type.item(), a, b, edge, sets);
      continue;
    }
    // Duplicates cannot be distinguished: the group is one leaf.
    if (equalJson(left.get(edge), right.get(edge))) continue;
    if (a === undefined) put(sets, 'added', edge);
    else if (b === undefined) put(sets, 'removed', edge);
    else put(sets, 'modified', edge);
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
  if (isScalar(before) && isScalar(after)) {
    if (before === undefined) put(sets, 'added', edge);
    else if (after === undefined) put(sets, 'removed', edge);
    else put(sets, 'modified', edge);
    return;
  }
  const parts = partsOf(type, after ?? before);
  const other = partsOf(type, before ?? after);
  const hollow = isHollow(before) && isHollow(after);
  if (parts.by === 'leaf' || hollow || parts.by !== other.by) {
    if (parts.by !== other.by && !hollow) compareParts(other, before, undefined, edge, sets);
    if (before === undefined) put(sets, 'added', edge);
    else if (after === undefined) put(sets, 'removed', edge);
    else if (!equalJson(before, after)) put(sets, 'modified', edge);
    if (parts.by !== other.by && !hollow) compareParts(parts, undefined, after, edge, sets);
    return;
  }
  compareParts(parts, before, after, edge, sets);
  if (before === undefined) put(sets, 'added', edge);
  else if (after === undefined) put(sets, 'removed', edge);
}

/** A leaf whatever the type is; null may stand for a map or a list. */
const isScalar = (value: unknown) => typeof value !== 'object';

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
