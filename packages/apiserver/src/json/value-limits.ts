/** Deeper values would overflow the stack somewhere later; no kind is even a tenth as deep. */
export const MAX_DEPTH = 1000;
/**
 * Values (objects, lists and scalars) in a body. Each costs the server some microseconds. The HTTPRoute definition of the Gateway API, 255 KB of
 * JSON, has 3,000.
 */
export const MAX_VALUES = 50_000;

/** The limit that a value exceeds; undefined: none. A part that is used twice (an alias of YAML) counts twice. */
export function valueLimitOf(root: unknown, limit = MAX_VALUES): 'depth' | 'values' | undefined {
  const open: unknown[] = [root];
  const depths: number[] = [0];
  let count = 0;
  while (open.length > 0) {
    const value = open.pop();
    const depth = depths.pop() ?? 0;
    count += 1;
    if (count + open.length > limit) return 'values';
    if (typeof value !== 'object' || value === null) continue;
    if (depth > MAX_DEPTH) return 'depth';
    const add = (part: unknown) => {
      open.push(part);
      depths.push(depth + 1);
    };
    if (Array.isArray(value)) value.forEach(add);
    else for (const key in value) add((value as Record<string, unknown>)[key]);
  }
  return undefined;
}
