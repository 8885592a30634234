// The approximate memory of a stored object in bytes. It is measured once, when the object is stored, and bounds the memory beyond the
// present state: the history, and events that wait for a slow watcher.

const weights = new WeakMap<object, number>();

/** The weight of an object, or of a part of one. Parts that were weighed before, at the first two levels, are not weighed again. */
export function weightOf(object: object): number {
  const known = weights.get(object);
  if (known !== undefined) return known;
  const weight = weigh(object, KNOWN_LEVELS);
  weights.set(object, weight);
  return weight;
}

/** The object, its fields, and those of its metadata. */
const KNOWN_LEVELS = 3;

const OBJECT_BYTES = 32;
const FIELD_BYTES = 8;
const TEXT_BYTES = 16;

/** The names of fields are shared by all objects of a kind, so only their values count. */
function weigh(value: unknown, levels = 0): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  const known = levels > 0 ? weights.get(value) : undefined;
  if (known !== undefined) return known;
  const below = levels > 0 ? levels - 1 : 0;
  let weight = OBJECT_BYTES;
  if (Array.isArray(value)) for (const item of value) weight += FIELD_BYTES + weigh(item, below);
  else for (const key in value) weight += FIELD_BYTES + weigh((value as Record<string, unknown>)[key], below);
  return weight;
}
