import { isObject, type JsonObject } from '../json/copy.ts';
import { childOf, type FieldSet, type FieldSetBuilder, finish, newBuilder } from './field-set.ts';
import { DEDUCED, type ListMapType, type MapType, type SetType, type TypeSchema } from './type-schema.ts';
import { edgesOf, type Parts, partsOf, typeOfKey } from './typed-value.ts';

/** Every field of a value, as a user who applies it owns them. */
export function toFieldSet(type: TypeSchema, value: JsonObject): FieldSet {
  const builder = newBuilder();
  addParts(partsOf(type, value), value, builder);
  return finish(builder);
}

function addParts(parts: Parts, value: unknown, builder: FieldSetBuilder): void {
  if (parts.by === 'items' && Array.isArray(value)) addItems(parts.type, value, builder);
  else if (parts.by === 'keys' && isObject(value)) addKeys(parts.type, value, builder);
}

function addItems(type: ListMapType | SetType, list: readonly unknown[], builder: FieldSetBuilder): void {
  const edges = edgesOf(type, list);
  const itemType = type.item();
  for (const [index, item] of list.entries()) {
    const edge = edges[index] ?? '';
    builder.members.add(edge);
    const parts = partsOf(itemType, item);
    if (parts.by !== 'leaf') addParts(parts, item, childOf(builder, edge));
  }
}

function addKeys(type: MapType, value: JsonObject, builder: FieldSetBuilder): void {
  for (const key of Object.keys(value)) {
    const edge = `f:${key}`;
    const part = value[key];
    const field = type.field(key);
    const parts = partsOf(field?.type ?? type.element ?? DEDUCED, part);
    // Fields of the schema stand for themselves only when they are empty; keys of a map always do.
    const bare = part === null || (isObject(part) && Object.keys(part).length === 0);
    if (parts.by === 'leaf' || bare || !field) builder.members.add(edge);
    if (parts.by !== 'leaf' && !bare) addParts(parts, part, childOf(builder, edge));
  }
}

/** The set with every field of the schema that has something below it: it goes when all of it goes. */
export function withNamedFields(set: FieldSet, type: TypeSchema): FieldSet {
  const members = new Set(set.members);
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of set.children) {
    if (edge.startsWith('f:') && type.shape === 'map' && type.field(edge.slice(2))) members.add(edge);
    children.set(edge, withNamedFields(child, typeBelow(type, edge)));
  }
  return { members, children };
}

function typeBelow(type: TypeSchema, edge: string): TypeSchema {
  if (edge.startsWith('f:')) return type.shape === 'map' ? typeOfKey(type, edge.slice(2)) : type;
  return type.shape === 'list-map' || type.shape === 'set' ? type.item() : type;
}
