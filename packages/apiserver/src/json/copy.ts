/** Copies a value as JSON would carry it: nothing is shared with the caller, and properties that are undefined are left out. */
export function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : copyJson(item)));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const part = (value as Record<string, unknown>)[key];
    if (part !== undefined) setOwn(copy, key, typeof part === 'object' ? copyJson(part) : part);
  }
  return copy;
}

export type JsonObject = Record<string, unknown>;

/** Sets a property under any name: `__proto__` is a key like every other in JSON. */
export function setOwn(object: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** The value under a name, never one that every JavaScript object has. */
export function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Equality of JSON values; the order of properties does not count, a property that is undefined is absent. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalJson(item, b[index]));
  }
  const left = a as JsonObject;
  const right = b as JsonObject;
  let shared = 0;
  for (const key of Object.keys(left)) {
    const value = left[key];
    if (!equalJson(value, ownValue(right, key))) return false;
    if (value !== undefined) shared += 1;
  }
  const others = Object.keys(right);
  // All of them have been met above, unless there are more.
  return (
    others.length === shared || others.every((key) => right[key] === undefined || ownValue(left, key) !== undefined)
  );
}

/** The value without the properties that are null; the same value where there is none. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  let copy: JsonObject | undefined;
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    const part = object[key];
    if (typeof part !== 'object') continue;
    const kept = part === null ? undefined : withoutNulls(part);
    if (kept === part) continue;
    copy ??= { ...object };
    if (kept === undefined) delete copy[key];
    else setOwn(copy, key, kept);
  }
  return copy ?? value;
}

/** The value at a path of property names, or undefined. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (!isObject(at)) return undefined;
    at = ownValue(at, name);
  }
  return at;
}

/** Returns a copy of the object with another value at the path; only the objects on the path are copied. Undefined removes the value. */
export function withValueAt(object: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [first, ...rest] = path;
  if (first === undefined) return object;
  const child = object[first];
  const next = rest.length === 0 ? value : withValueAt(isObject(child) ? child : {}, rest, value);
  const { [first]: _, ...others } = object;
  return next === undefined ? others : { ...object, [first]: next };
}

/** The text at a path, or empty where there is none. */
export function textAt(value: unknown, path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}
