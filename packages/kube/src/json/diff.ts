import { equal, isPlain } from './equal.ts';

/**
 * The paths at which two values differ, like `spec.routes[2].services[0].weight` or `data["ca.crt"]`, at most `limit` of
 * them. An added or removed part is named once, at its root; the values themselves, when they differ as a whole, as `.`.
 * Paths only, never values, so that a difference of Secrets may be printed.
 */
export function diff(a: unknown, b: unknown, limit = 100): string[] {
  return changesBetween(a, b, limit).map(({ path }) => path);
}

/** A value that differs; a side that has none is undefined. */
export interface ValueChange {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** The same with the values. Never of Secrets. */
export function changesBetween(a: unknown, b: unknown, limit = 100): ValueChange[] {
  const changes: ValueChange[] = [];
  collect(a, b, '', limit, changes);
  return changes;
}

/** Appends a field's name to a path in the notation of `diff`. */
export function joinPath(path: string, key: string): string {
  if (!SIMPLE_KEY.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

const SIMPLE_KEY = /^[A-Za-z_$][\w$-]*$/;

function collect(a: unknown, b: unknown, path: string, limit: number, changes: ValueChange[]): void {
  if (a === b || changes.length >= limit) return;
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length) && changes.length < limit; i++) {
      if (i < a.length && i < b.length) collect(a[i], b[i], `${path}[${i}]`, limit, changes);
      else changes.push({ path: `${path}[${i}]`, before: a[i], after: b[i] });
    }
    return;
  }
  if (isRecord(a) && isRecord(b)) {
    for (const key of Object.keys(a)) {
      if (changes.length >= limit) return;
      if (Object.hasOwn(b, key)) collect(a[key], b[key], joinPath(path, key), limit, changes);
      else changes.push({ path: joinPath(path, key), before: a[key] });
    }
    for (const key of Object.keys(b)) {
      if (changes.length >= limit) return;
      if (!Object.hasOwn(a, key)) changes.push({ path: joinPath(path, key), after: b[key] });
    }
    return;
  }
  if (!equal(a, b)) changes.push({ path: path === '' ? '.' : path, before: a, after: b });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value);
}
