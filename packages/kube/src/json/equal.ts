/**
 * Deep equality of plain data (JSON values, undefined, typed arrays by content). Anything else (Map, class instances,
 * functions) is equal only to itself, so that an unknown shape is never taken for unchanged.
 */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return Number.isNaN(a) && Number.isNaN(b);
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b);
  if (Array.isArray(b)) return false;
  if (ArrayBuffer.isView(a)) return ArrayBuffer.isView(b) && equalBytes(a, b);
  if (!isPlain(a) || !isPlain(b)) return false;
  return equalObjects(a, b);
}

/** True for objects created by literals or JSON.parse: the only ones that are compared, shared or walked by their keys. */
export function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

function equalObjects(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  let keys = 0;
  for (const key in a) {
    if (!equal(a[key], b[key])) return false;
    // The one name that every object answers to without having it.
    if (key === '__proto__' && !Object.hasOwn(b, key)) return false;
    // Only an undefined value leaves open whether the other side has the key at all.
    if (a[key] === undefined && !Object.hasOwn(b, key)) return false;
    keys++;
  }
  for (const _ in b) keys--;
  return keys === 0;
}

function equalBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  if (a.byteLength !== b.byteLength || a.constructor !== b.constructor) return false;
  return Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
