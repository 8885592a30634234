// Status as a plan gives it: fields that are mentioned are set, fields that are not are kept, drop() removes.
import { equal } from '@capstan/kube';

const dropped = Symbol('drop');

/** In a plan's status: this field should not be there. */
export function drop(): never {
  // Typed as never so that it fits any field; it is a marker that mergeStatus understands.
  return DROP as never;
}

const DROP = Object.freeze({ [dropped]: true });

export type StatusInput = { readonly [field: string]: unknown };

export function isDrop(value: unknown): boolean {
  return value === DROP;
}

/**
 * The status after a plan: objects are merged field by field, lists and scalars replaced. Returns `current` itself when
 * the plan changes nothing.
 */
export function mergeStatus(current: StatusInput | undefined, input: StatusInput): StatusInput {
  const before = current ?? {};
  let after: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const merged = mergeField(before[field], value);
    if (merged === before[field] && (merged !== undefined || !(field in before))) continue;
    after ??= { ...before };
    if (merged === undefined) delete after[field];
    else after[field] = merged;
  }
  return after ?? current ?? before;
}

function mergeField(current: unknown, input: unknown): unknown {
  if (input === DROP) return undefined;
  if (isRecord(input)) {
    const merged = mergeStatus(isRecord(current) ? current : undefined, input);
    return isRecord(current) || Object.keys(merged).length > 0 || Object.keys(input).length === 0 ? merged : undefined;
  }
  return equal(current, input) ? current : input;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
