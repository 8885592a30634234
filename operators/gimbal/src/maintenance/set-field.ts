import { parsePointer } from '@capstan/kube';

/** Returns the document with one field set, or removed if the value is undefined. Parts beside the path are shared, not copied. */
export function setField(document: unknown, pointer: string, value: unknown): unknown {
  return set(document, parsePointer(pointer) ?? [], value);
}

function set(part: unknown, names: readonly string[], value: unknown): unknown {
  const [name, ...rest] = names;
  if (name === undefined) return value;
  if (Array.isArray(part))
    return part.map((item: unknown, at): unknown => (String(at) === name ? set(item, rest, value) : item));
  const object = (part ?? {}) as Record<string, unknown>;
  const next = set(object[name], rest, value);
  if (next !== undefined) return { ...object, [name]: next };
  const { [name]: _removed, ...others } = object;
  return others;
}
