/** Deeper values would overflow the stack somewhere later; no kind is even a tenth as deep. */
export const MAX_DEPTH = 1000;
/**
 * Values (objects, lists and scalars) in a body. Each costs the server some microseconds, and no other request is served meanwhile. The HTTPRoute
 * definition of the Gateway API, 255 KB of JSON, has 3,000.
 */
export const MAX_VALUES = 50_000;

/** Whether a value has more values in it than the limit. A part that is used twice (an alias of YAML) counts twice. */
export function hasTooManyValues(root: unknown, limit = MAX_VALUES): boolean {
  const open: unknown[] = [root];
  let count = 0;
  while (open.length > 0) {
    const value = open.pop();
    count += 1;
    if (count + open.length > limit) return true;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) for (const item of value) open.push(item);
    else for (const key in value) open.push((value as Record<string, unknown>)[key]);
  }
  return false;
}
