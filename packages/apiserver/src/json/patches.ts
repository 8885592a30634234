import { InvalidValueError, jsonPatchSteps, parseJsonPatch } from '@capstan/kube';
import { unprocessablePatch } from '../errors.ts';
import type { Steps } from '../steps.ts';
import { type JsonObject, valueAt } from './copy.ts';
import { valueLimitOf } from './value-limits.ts';

/**
 * Applies a JSON patch; one that does not apply, whatever the reason, is refused with the same few words. So is one whose result is beyond the
 * limits of a body: copies and additions can make a document deeper and larger than any body is.
 */
export function* applyJsonPatch(document: unknown, patch: unknown): Steps<unknown> {
  try {
    parseJsonPatch(patch);
    const result = yield* jsonPatchSteps(document, patch);
    yield;
    if (valueLimitOf(withoutSameManagers(document, result)) !== undefined) throw unprocessablePatch();
    return result;
  } catch (error) {
    throw error instanceof InvalidValueError ? unprocessablePatch() : error;
  }
}

/** The managers that an object had before are no part of a body, and repeat each of its keys. */
function withoutSameManagers(document: unknown, result: unknown): unknown {
  const managers = valueAt(result, MANAGERS);
  if (managers === undefined || managers !== valueAt(document, MANAGERS)) return result;
  const { metadata, ...rest } = result as { metadata: JsonObject };
  const { managedFields: _, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

const MANAGERS = ['metadata', 'managedFields'];
