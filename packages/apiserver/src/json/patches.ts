import { applyJsonPatch as apply, InvalidValueError, parseJsonPatch } from '@capstan/kube';
import { unprocessablePatch } from '../errors.ts';

/** Applies a JSON patch; one that does not apply, whatever the reason, is refused with the same few words. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  try {
    parseJsonPatch(patch);
  } catch (error) {
    throw error instanceof InvalidValueError ? unprocessablePatch() : error;
  }
  try {
    return apply(document, patch);
  } catch (error) {
    throw error instanceof InvalidValueError ? unprocessablePatch() : error;
  }
}
