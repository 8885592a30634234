// Status as a plan gives it, by top-level field: one that is mentioned is as the plan says, as a whole; one that is not is
// kept; drop() removes.
import { equal } from '@capstan/kube';

/** A text that no status has: it survives copying and compares by value, as everything in a plan must. */
const DROP = '\u0000drop';

/** In a plan's status: this field should not be there. Typed as never so that it fits any field. */
export function drop(): never {
  return DROP as never;
}

export type StatusInput = { readonly [field: string]: unknown };

/** The status after a plan; `current` itself, undefined too, when the plan changes nothing. */
export function mergeStatus<C extends StatusInput | undefined>(current: C, input: StatusInput): StatusInput | C {
  const before: StatusInput = current ?? {};
  let after: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const next = isNothing(value) ? undefined : definedParts(value);
    if (equal(before[field], next)) continue;
    after ??= { ...before };
    if (next === undefined) delete after[field];
    else after[field] = next;
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
