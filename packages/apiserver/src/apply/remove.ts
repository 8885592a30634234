import { isObject, type JsonObject, setOwn } from '../json/copy.ts';
import { type FieldSet, isEmpty } from './field-set.ts';
import type { TypeSchema } from './type-schema.ts';
import { edgesOf, partsOf, typeOfKey } from './typed-value.ts';

/** The value without the fields of the set; undefined when nothing is left of it. */
export function removeFields(type: TypeSchema, value: unknown, set: FieldSet): unknown {
  if (isEmpty(set)) return value;
  const parts = partsOf(type, value);
  if (parts.by === 'keys' && isObject(value)) {
    const result: JsonObject = {};
    for (const [key, part] of Object.entries(value)) {
      const edge = `f:${key}`;
      if (set.members.has(edge)) continue;
      const child = set.children.get(edge);
      const kept = child ? removeFields(typeOfKey(parts.type, key), part, child) : part;
      // An object whose fields were all removed becomes null, unless it is removed itself.
      setOwn(result, key, kept === undefined ? null : kept);
    }
    return Object.keys(result).length === 0 && Object.keys(value).length > 0 ? undefined : result;
  }
  if (parts.by === 'items' && Array.isArray(value)) {
    const edges = edgesOf(parts.type, value);
    const result: unknown[] = [];
    for (const [index, item] of value.entries()) {
      const edge = edges[index] ?? '';
      if (set.members.has(edge)) continue;
      const child = set.children.get(edge);
      result.push(child ? removeFields(parts.type.item(), item, child) : (item as unknown));
    }
    return result.length === 0 && value.length > 0 ? undefined : result;
  }
  return value;
}
