import { isObject, type JsonObject } from '../json/copy.ts';

/** Fills in the missing fields of a type; returns a new value, or the same one when nothing is missing. */
export type Defaults = (value: JsonObject) => JsonObject;

/** Sets the fields that are absent: those that are pointers in Go, for which zero is a value. */
export function fillAbsent(value: JsonObject, fields: JsonObject): JsonObject {
  return fillWhere(value, fields, (present) => present === undefined);
}

/** Sets the fields that are absent, empty or zero: those that are not pointers in Go. */
export function fillZero(value: JsonObject, fields: JsonObject): JsonObject {
  return fillWhere(value, fields, (present) => present === undefined || present === '' || present === 0);
}

function fillWhere(value: JsonObject, fields: JsonObject, isMissing: (present: unknown) => boolean): JsonObject {
  const missing = Object.entries(fields).filter(([name]) => isMissing(value[name]));
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
}

/** Changes a field that is an object, if it is there. */
export function within(value: JsonObject, field: string, change: Defaults): JsonObject {
  const part = value[field];
  if (!isObject(part)) return value;
  const changed = change(part);
  return changed === part ? value : { ...value, [field]: changed };
}

/** Changes each object in a list, if it is there. */
export function each(value: JsonObject, field: string, change: Defaults): JsonObject {
  const list = value[field];
  if (!Array.isArray(list)) return value;
  const changed = list.map((one: unknown) => (isObject(one) ? change(one) : one));
  return changed.every((one, index) => one === list[index]) ? value : { ...value, [field]: changed };
}
