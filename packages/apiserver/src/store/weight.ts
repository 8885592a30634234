// About how many bytes a stored object takes in memory. It is measured once, when the object is stored, and bounds what is kept
// beyond the present state: the history, and events that wait for a slow watcher.
import type { UnknownObject } from '@capstan/kube';

const weights = new WeakMap<object, number>();

export function weightOf(object: UnknownObject): number {
  let weight = weights.get(object);
  if (weight === undefined) {
    weight = weigh(object);
    weights.set(object, weight);
  }
  return weight;
}

const OBJECT_BYTES = 32;
const FIELD_BYTES = 8;
const TEXT_BYTES = 16;

/** Names of fields are shared by all objects of a kind, so only what they hold counts. */
function weigh(value: unknown): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = OBJECT_BYTES;
  if (Array.isArray(value)) {
    for (const item of value) weight += FIELD_BYTES + weigh(item);
    return weight;
  }
  for (const key in value) weight += FIELD_BYTES + weigh((value as Record<string, unknown>)[key]);
  return weight;
}
