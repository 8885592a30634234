// Reads answers of unknown shape. A field of another type is undefined.
import { isRecord } from '@capstan/kube/cluster';

export function recordAt(value: unknown, name: string): Record<string, unknown> | undefined {
  const found = isRecord(value) ? value[name] : undefined;
  return isRecord(found) ? found : undefined;
}

export function arrayAt(value: unknown, name: string): readonly unknown[] | undefined {
  const found = isRecord(value) ? value[name] : undefined;
  return Array.isArray(found) ? found : undefined;
}

export function textAt(value: unknown, name: string): string | undefined {
  const found = isRecord(value) ? value[name] : undefined;
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: unknown, name: string): number | undefined {
  const found = isRecord(value) ? value[name] : undefined;
  return typeof found === 'number' ? found : undefined;
}

export function booleanAt(value: unknown, name: string): boolean | undefined {
  const found = isRecord(value) ? value[name] : undefined;
  return typeof found === 'boolean' ? found : undefined;
}

/** The ids in a list of references: `[{"id": …}]`. */
export function idsAt(value: unknown, name: string): string[] {
  return (arrayAt(value, name) ?? []).flatMap((each) => textAt(each, 'id') ?? []);
}
