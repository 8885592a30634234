// JSON Merge Patch (RFC 7396): members of the patch replace, and null members remove. It cannot set a value to null, and it replaces whole
// lists. Nothing is changed in place, and equal parts keep their reference.
import { equal, isPlain } from './equal.ts';

/** `target` as the patch wants it; `target` itself when that changes nothing. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return equal(target, patch) ? target : patch;
  const old = isObject(target) ? target : {};
  let next: Record<string, unknown> | undefined = old === target ? undefined : {};
  for (const key of Object.keys(patch)) {
    const wanted = patch[key];
    if (wanted === undefined) continue;
    if (wanted === null) {
      if (!Object.hasOwn(old, key)) continue;
      next ??= { ...old };
      delete next[key];
      continue;
    }
    const before = own(old, key);
    const after = applyMergePatch(before, wanted);
    if (after === before) continue;
    next ??= { ...old };
    set(next, key, after);
  }
  return next ?? target;
}

/** Sets a member under any name: `__proto__` is a key like every other in JSON. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/**
 * The smallest patch that makes `to` from `from`; `{}` when they are equal. A member that is null in `to` cannot be asked
 * for: it counts as missing, as it does for Kubernetes.
 */
export function createMergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const patch: [string, unknown][] = [];
  for (const [key, before] of Object.entries(from)) {
    if (isPresent(before) && !isPresent(own(to, key))) patch.push([key, null]);
  }
  for (const [key, after] of Object.entries(to)) {
    if (!isPresent(after)) continue;
    const before = own(from, key);
    if (isObject(before) && isObject(after)) {
      const inner = createMergePatch(before, after);
      if (isObject(inner) && Object.keys(inner).length > 0) patch.push([key, inner]);
    } else if (!equal(before, after)) {
      patch.push([key, after]);
    }
  }
  return Object.fromEntries(patch);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && isPlain(value);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
