// Reads JSON from outside without trusting its shape.
import { isRecord } from '../json/is-record.ts';

export function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Returns the string at `key`, or '' if there is none. */
export function stringAt(value: Record<string, unknown>, key: string): string {
  const found = value[key];
  return typeof found === 'string' ? found : '';
}
