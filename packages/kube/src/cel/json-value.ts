import { type CelType, DYN } from './typing/types.ts';
import type { CelMap, Value } from './values.ts';

/** The type of values without a schema. */
export const DYNAMIC: CelType = DYN;

/** Converts JSON without a schema to a CEL value: whole numbers are ints, objects are maps from strings, and an absent value is null. */
export function dynamicValue(json: unknown): Value {
  switch (typeof json) {
    case 'string':
    case 'boolean':
      return json;
    case 'number':
      return Number.isSafeInteger(json) ? BigInt(json) : json;
    case 'object':
      if (json === null) return null;
      return Array.isArray(json) ? { kind: 'list', items: json, convert: dynamicValue } : mapOf(json);
    default:
      return null;
  }
}

function mapOf(raw: object): CelMap {
  const entries = new Map<string, unknown>(Object.entries(raw).filter(([, value]) => value !== undefined));
  return {
    kind: 'map',
    size: entries.size,
    get: (key) => (typeof key === 'string' && entries.has(key) ? dynamicValue(entries.get(key)) : undefined),
    keys: () => [...entries.keys()],
  };
}
