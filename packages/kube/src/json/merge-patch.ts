// JSON Merge Patch (RFC 7396): an object whose members replace, and whose null members remove. It cannot say "set this to
// null", and it replaces lists whole. Nothing is changed in place, and what stays equal stays the same reference.
import { equal, isPlain } from './equal.ts';

/** `target` as the patch wants it; `target` itself when that changes nothing. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return equal(target, patch) ? target : patch;
  const old = isObject(target) ? target : {};
  const next = new Map(Object.entries(old));
  let changed = old !== target;
  for (const [key, wanted] of Object.entries(patch)) {
    if (wanted === undefined) continue;
    if (wanted === null) {
      if (next.delete(key)) changed = true;
      continue;
    }
    const before = next.get(key);
    const after = applyMergePatch(before, wanted);
    if (after !== before) changed = true;
    next.set(key, after);
  }
  return changed ? Object.fromEntries(next) : target;
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
