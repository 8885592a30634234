// The status of a plan, by top-level field: a mentioned field is replaced as a whole; others are kept; drop() removes.
import { equal } from '@capstan/kube/cluster';

/** A text that no status has: it survives copying and compares by value, as everything in a plan must. */
const DROP = '\u0000drop';

/** In a plan's status: this field should not be there. Typed as never so that it fits any field. */
export function drop(): never {
  return DROP as never;
}

const TIME = '\u0000time';

/**
 * In a plan's status: the time of the write, for conditions inside of lists. Beside a time that is there already it is no difference,
 * so it alone causes no write.
 */
export function timeOfWrite(): string {
  return TIME;
}

export type StatusInput = { readonly [field: string]: unknown };

/** The status after a plan; `current` itself, undefined too, when the plan changes nothing. */
export function mergeStatus<C extends StatusInput | undefined>(
  current: C,
  input: StatusInput,
  now: () => string = timeOfWrite,
): StatusInput | C {
  const before: StatusInput = current ?? {};
  let after: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const next = isNothing(value) ? undefined : definedParts(value);
    if (equal(before[field], next) || isSameButTimes(before[field], next)) continue;
    after ??= { ...before };
    if (next === undefined) delete after[field];
    else after[field] = withTimes(next, now);
  }
  return after ?? current;
}

/** The value as the server keeps it: without fields that are undefined, null or dropped. */
function definedParts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(definedParts);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, part]) => !isNothing(part));
  return Object.fromEntries(kept.map(([name, part]) => [name, definedParts(part)]));
}

/** To Kubernetes null is no value: if it were one here, it would be written again and again. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === DROP;
}

function isSameButTimes(before: unknown, next: unknown): boolean {
  if (next === TIME) return typeof before === 'string';
  if (typeof before !== 'object' || typeof next !== 'object' || before === null || next === null)
    return before === next;
  if (Array.isArray(before) !== Array.isArray(next)) return false;
  const names = Object.keys(next);
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => isSameButTimes((before as StatusInput)[name], (next as StatusInput)[name]))
  );
}

function withTimes(value: unknown, now: () => string): unknown {
  if (value === TIME) return now();
  if (Array.isArray(value)) return value.map((part) => withTimes(part, now));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withTimes(part, now)]));
}
