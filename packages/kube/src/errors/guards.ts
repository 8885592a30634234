import { ApiError } from './api-error.ts';
import { ConfigError } from './config-error.ts';
import { TransportError } from './transport-error.ts';

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}
export function isTransportError(error: unknown): error is TransportError {
  return error instanceof TransportError;
}
export function isConfigError(error: unknown): error is ConfigError {
  return error instanceof ConfigError;
}
export function isBadRequest(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 400;
}
export function isUnauthorized(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 401;
}
export function isForbidden(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 403;
}
export function isNotFound(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 404;
}
/** A stale resourceVersion, a failed precondition, or an apply conflict; not AlreadyExists, which has the same code. */
export function isConflict(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 409 && error.reason !== 'AlreadyExists';
}
export function isAlreadyExists(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 409 && error.reason === 'AlreadyExists';
}
/** The resourceVersion or continue token is too old (reasons Gone and Expired). */
export function isGone(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 410;
}
export function isInvalid(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 422;
}
export function isTooManyRequests(error: unknown): error is ApiError {
  return isApiError(error) && error.code === 429;
}
export function isServerError(error: unknown): error is ApiError {
  return isApiError(error) && error.code >= 500;
}
/** The cancellation of the caller, or the end of the transport: nothing to report. */
export function isAborted(error: unknown): error is TransportError {
  return isTransportError(error) && (error.kind === 'aborted' || error.kind === 'closed');
}

/** A field that another manager owns and an apply without force may not take. */
export interface ApplyConflict {
  manager: string;
  /** As the server names it: `.spec.replicas`. */
  field: string;
}

/** Returns the fields of a refused apply with their managers; empty for other errors. */
export function applyConflicts(error: unknown): ApplyConflict[] {
  if (!isConflict(error)) return [];
  return (error.details.causes ?? [])
    .filter((cause) => cause.reason === 'FieldManagerConflict')
    .map((cause) => ({ manager: managerIn(cause.message ?? ''), field: cause.field ?? '' }));
}

// `conflict with "kubectl" with subresource "scale" using apps/v1`: the first quoted string, quoted as Go does.
function managerIn(message: string): string {
  const quoted = /^conflict with ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  if (quoted === undefined) return message;
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
