// The difference of two versions of plain JSON: most changes of an object concern a few of its fields. The order of names is part of a value,
// because functions iterate over it.
import { setField } from './text.ts';

/**
 * `[0, value]`: another value. `[1, changed, removed, order]`: an object; `order` has all names where those that are new do not simply
 * follow the others. `[2, changed, length]`: a list.
 */
export type Delta =
  | readonly [0, unknown]
  | readonly [1, Readonly<Record<string, Delta>>, readonly string[], (readonly string[])?]
  | readonly [2, Readonly<Record<number, Delta>>, number];

/** Undefined where the two are equal. */
export function deltaOf(before: unknown, after: unknown): Delta | undefined {
  if (before === after) return undefined;
  if (Array.isArray(before) && Array.isArray(after)) {
    const changed: Record<number, Delta> = {};
    for (let at = 0; at < after.length; at++) {
      const delta = at < before.length ? deltaOf(before[at], after[at]) : ([0, after[at]] as const);
      if (delta !== undefined) changed[at] = delta;
    }
    const isSame = before.length === after.length && Object.keys(changed).length === 0;
    return isSame ? undefined : [2, changed, after.length];
  }
  if (!isObject(before) || !isObject(after)) return [0, after];
  const changed: Record<string, Delta> = {};
  for (const [name, value] of Object.entries(after)) {
    const delta = Object.hasOwn(before, name) ? deltaOf(before[name], value) : ([0, value] as const);
    if (delta !== undefined) setField(changed, name, delta);
  }
  const names = Object.keys(after);
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const kept =
    removed.length === 0 ? Object.keys(before) : Object.keys(before).filter((name) => Object.hasOwn(after, name));
  // New names come after the others in `names` if the others are its beginning.
  if (kept.some((name, at) => names[at] !== name)) return [1, changed, removed, names];
  return removed.length === 0 && Object.keys(changed).length === 0 ? undefined : [1, changed, removed];
}

/** Throws where the delta does not fit. */
export function applyDelta(before: unknown, delta: Delta): unknown {
  if (delta[0] === 0) return delta[1];
  if (delta[0] === 2) {
    if (!Array.isArray(before)) throw new TypeError('the change of a list meets something else');
    const items = before.slice(0, delta[2]);
    for (const [at, part] of Object.entries(delta[1])) items[Number(at)] = applyDelta(before[Number(at)], part);
    return items;
  }
  if (!isObject(before)) throw new TypeError('the change of an object meets something else');
  const [, changed, removed, order] = delta;
  if (order !== undefined) {
    const ordered: Record<string, unknown> = {};
    for (const name of order) {
      const part = Object.hasOwn(changed, name) ? changed[name] : undefined;
      setField(ordered, name, part === undefined ? before[name] : applyDelta(before[name], part));
    }
    return ordered;
  }
  const result: Record<string, unknown> = { ...before };
  for (const name of removed) delete result[name];
  for (const [name, part] of Object.entries(changed)) setField(result, name, applyDelta(before[name], part));
  return result;
}

/** Bytes, maps and objects of classes are taken whole. */
function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
