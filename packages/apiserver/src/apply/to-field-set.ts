import { isObject, type JsonObject } from '../json/copy.ts';
import { childOf, type FieldSet, type FieldSetBuilder, finish, newBuilder } from './field-set.ts';
import type { TypeSchema } from './type-schema.ts';
import { edgesOf, partsOf, typeOfKey } from './typed-value.ts';

/** Every field of a value, as somebody who applies it owns them. */
export function toFieldSet(type: TypeSchema, value: JsonObject): FieldSet {
  const builder = newBuilder();
  addParts(type, value, builder);
  return finish(builder);
}

/** True when the value is a leaf, so that its own path has to be added. */
function addParts(type: TypeSchema, value: unknown, builder: FieldSetBuilder): boolean {
  const parts = partsOf(type, value);
  if (parts.by === 'leaf') return true;
  if (parts.by === 'items') {
    if (!Array.isArray(value)) return false;
    const edges = edgesOf(parts.type, value);
    for (const [index, item] of value.entries()) {
      const edge = edges[index] ?? '';
      builder.members.add(edge);
      addParts(parts.type.item(), item, childOf(builder, edge));
    }
    return false;
  }
  if (!isObject(value)) return false;
  for (const [key, part] of Object.entries(value)) {
    const edge = `f:${key}`;
    const leaf = addParts(typeOfKey(parts.type, key), part, childOf(builder, edge));
    // Fields of the schema stand for themselves only when they are empty; keys of a map always do.
    const bare = part === null || (isObject(part) && Object.keys(part).length === 0);
    if (leaf || bare || !parts.type.field(key)) builder.members.add(edge);
  }
  return false;
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
