// Routes are data of other programs: whatever is in them, looking must not fail.

import { isRecord } from '@capstan/kube';

export type Json = Readonly<Record<string, unknown>>;

/** The object, or an empty one. */
export function objectIn(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** These fields of an object; those that are not there are undefined. */
export function fieldsIn(value: Json, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, value[name]]));
}
