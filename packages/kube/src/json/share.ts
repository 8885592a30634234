import { equal, isPlain } from './equal.ts';

/**
 * Gives `next` with every part that equals the same part of `previous` replaced by the old reference; `previous` itself
 * when all is equal. Neither argument is changed. Readers then compare unchanged parts by `===`: with thousands of
 * readers of one object that is the difference between microseconds and milliseconds.
 */
export function share<T>(previous: unknown, next: T): T {
  return shareValue(previous, next) as T;
}

function shareValue(previous: unknown, next: unknown): unknown {
  if (previous === next) return previous;
  if (typeof previous !== 'object' || typeof next !== 'object' || previous === null || next === null) {
    return next;
  }
  if (Array.isArray(next)) return Array.isArray(previous) ? shareArray(previous, next) : next;
  if (Array.isArray(previous)) return next;
  if (isPlain(previous) && isPlain(next)) return shareObject(previous, next);
  return equal(previous, next) ? previous : next;
}

function shareArray(previous: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  let same = previous.length === next.length;
  let copy: unknown[] | undefined;
  for (let i = 0; i < next.length; i++) {
    const shared = i < previous.length ? shareValue(previous[i], next[i]) : next[i];
    if (i >= previous.length || shared !== previous[i]) same = false;
    if (shared !== next[i]) (copy ??= next.slice())[i] = shared;
  }
  return same ? previous : (copy ?? next);
}

function shareObject(previous: Record<string, unknown>, next: Record<string, unknown>): Record<string, unknown> {
  let same = true;
  let keys = 0;
  let copy: Record<string, unknown> | undefined;
  for (const key in next) {
    keys++;
    if (!Object.hasOwn(previous, key)) {
      same = false;
      continue;
    }
    // Assigning __proto__ would set the prototype of the copy instead of a field: it is compared, and not shared.
    if (key === '__proto__') {
      same &&= equal(ownField(previous, key), ownField(next, key));
      continue;
    }
    const shared = shareValue(previous[key], next[key]);
    if (shared !== previous[key]) same = false;
    if (shared !== next[key]) (copy ??= { ...next })[key] = shared;
  }
  if (same) {
    for (const _ in previous) keys--;
    if (keys === 0) return previous;
  }
  return copy ?? next;
}

function ownField(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}
