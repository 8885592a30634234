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

/** The status after a plan; `current` itself when the plan changes nothing. */
export function mergeStatus(current: StatusInput | undefined, input: StatusInput): StatusInput {
  const before = current ?? {};
  let after: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const next = value === DROP ? undefined : definedParts(value);
    if (equal(before[field], next)) continue;
    after ??= { ...before };
    if (next === undefined) delete after[field];
    else after[field] = next;
  }
  return after ?? current ?? before;
}

/** The value as JSON has it: without fields that are undefined or dropped. */
function definedParts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(definedParts);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, part]) => part !== undefined && part !== DROP);
  return Object.fromEntries(kept.map(([name, part]) => [name, definedParts(part)]));
}
