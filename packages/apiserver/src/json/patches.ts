import { applyJsonPatch as apply, InvalidValueError, parseJsonPatch } from '@capstan/kube';
import { badRequest, unprocessablePatch } from '../errors.ts';

/** Applies a JSON patch with the API server's answers: 400 for what is no patch, 422 for one that does not apply. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  try {
    parseJsonPatch(patch);
  } catch (error) {
    throw error instanceof InvalidValueError ? badRequest(error.problem) : error;
  }
  try {
    return apply(document, patch);
  } catch (error) {
    throw error instanceof InvalidValueError ? unprocessablePatch(error.problem) : error;
  }
}
