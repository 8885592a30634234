// The names that discovered services get here. Bit for bit those of Gimbal's own discoverers, quirks included, because routes
// refer to services by these names: the one that moves from them to us must find every route as it was.
import { createHash } from 'node:crypto';

/** Names of Services, and label values, have at most so many characters. */
export const MAX_NAME = 63;

/** Returns the name of a backend's service in this cluster. */
export function discoveredName(backend: string, service: string): string {
  return shorten([backend, service]);
}

/** A text as a label value: cut, and ended by a part of its hash, when it is too long. */
export function labelValue(text: string): string {
  return shorten([text]);
}

/**
 * Joins with hyphens. While the result is not shorter than 63, components from the last to the first that exceed their share
 * are cut and end in six digits of their hash. The trap: "shorter than", so a joined name of exactly 63 characters is cut
 * although it would fit, unless no component exceeds its share.
 */
function shorten(components: readonly string[]): string {
  const share = Math.floor(MAX_NAME / components.length);
  const parts = [...components];
  for (let index = parts.length - 1; index >= 0 && parts.join('-').length >= MAX_NAME; index--) {
    const part = parts[index] ?? '';
    if (part.length > share) parts[index] = part.slice(0, share - HASH_DIGITS) + hexOf(part).slice(0, HASH_DIGITS);
  }
  return parts.join('-');
}

const HASH_DIGITS = 6;

/** Returns the name of an EndpointSlice of a discovered service. It is stable as long as the slice stands for the same part. */
export function sliceName(service: string, part: string): string {
  return `${service}-${hexOf(part).slice(0, SLICE_DIGITS)}`;
}

const SLICE_DIGITS = 10;

function hexOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
