import type { JsonObject } from './copy.ts';

/**
 * Returns the same value with the keys of all objects in order, as Go writes maps. Objects in order are not copied. Keys that look like
 * numbers come first, as everywhere in JavaScript.
 */
export function sorted<T>(value: T): T {
  if (Array.isArray(value)) return sortedList(value) as T;
  return typeof value === 'object' && value !== null ? (sortedObject(value as JsonObject) as T) : value;
}

function sortedList(list: readonly unknown[]): readonly unknown[] {
  const members = list.map(sorted);
  return members.some((member, index) => member !== list[index]) ? members : list;
}

function sortedObject(object: JsonObject): JsonObject {
  const keys = Object.keys(object);
  let isChanged = keys.some((key, index) => index > 0 && key < (keys[index - 1] ?? ''));
  const members = (isChanged ? keys.toSorted() : keys).map((key): [string, unknown] => {
    const member = sorted(object[key]);
    isChanged ||= member !== object[key];
    return [key, member];
  });
  return isChanged ? Object.fromEntries(members) : object;
}
