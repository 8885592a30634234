import { type ApiError, isApiError, isConfigError, isTransportError, reasonOf, type Status } from '../errors.ts';

// Every failure of a list or a watch, and its consequence. No failure ends an informer.
//
//   Unauthorized, Forbidden   tried again slowly; readers see the reason
//   NotServed (404)           the kind does not exist (yet): searched for slowly, or at once when poked; listed again
//   Invalid (400, 405, 422…)  the server does not accept selectors, verb or resourceVersion: tried again slowly, listed again
//   Expired (410)             the history was compacted: listed again at once
//   Ahead                     the server is behind the version that we have seen (restored from a backup): listed again
//   Throttled (429)           tried again, not before Retry-After
//   ServerError               tried again (5xx, and ERROR events that say nothing else)
//   Unreachable               no answer, or the connection broke: tried again
//   Silent                    open, but without a sign of life for too long: tried again
//   Malformed                 an answer that is no Kubernetes: tried again, and listed again if that does not help
//   Unexpected                a bug on this side, or credentials that cannot be created: logged, tried again

export type FailureReason =
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotServed'
  | 'Invalid'
  | 'Expired'
  | 'Ahead'
  | 'Throttled'
  | 'ServerError'
  | 'Unreachable'
  | 'Silent'
  | 'Malformed'
  | 'Unexpected';

export interface Failure {
  readonly reason: FailureReason;
  /** One line, without secrets. */
  readonly message: string;
  /** The server asks to be left alone for this long. */
  readonly retryAfterMs?: number;
  /** The answer was larger than allowed: a smaller page may pass. */
  readonly isTooLarge?: boolean;
  /** Only for Unexpected: to be logged with its stack. */
  readonly error?: unknown;
}

/** A problem that the informer itself finds in an answer. It is caught and classified like any other failure. */
export class InformerFault extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'InformerFault';
    this.failure = failure;
  }
}

export function malformed(message: string): InformerFault {
  return new InformerFault({ reason: 'Malformed', message });
}

export function failureOf(error: unknown): Failure {
  if (error instanceof InformerFault) return error.failure;
  if (isApiError(error)) return failureOfApiError(error);
  const message = reasonOf(error);
  if (isTransportError(error)) {
    if (error.kind === 'too-large') return { reason: 'Malformed', message, isTooLarge: true };
    return { reason: error.kind === 'malformed' ? 'Malformed' : 'Unreachable', message };
  }
  if (isConfigError(error)) return { reason: 'Unauthorized', message };
  return { reason: 'Unexpected', message, error };
}

/** Returns the failure of an ERROR event, whose object is a Status or cannot be parsed. */
export function failureOfErrorEvent(object: unknown): Failure {
  const status = typeof object === 'object' && object !== null ? (object as Status) : {};
  const detail = typeof status.message === 'string' ? status.message : 'no message';
  const message = `the watch ended with an error event: ${detail} (${status.code ?? 'no code'} ${status.reason ?? ''})`;
  const code = status.code ?? (status.reason === 'Expired' || status.reason === 'Gone' ? 410 : 500);
  return withRetryAfter({ reason: reasonOfCode(code, isTooLarge(status)), message }, status.details?.retryAfterSeconds);
}

/** Reports whether a server refused to stream lists: the feature is off, or the parameter is not known. */
export function isRefusalOfStreaming(error: unknown): boolean {
  return isApiError(error) && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<number> = new Set([400, 405, 406, 415, 422, 501]);

function failureOfApiError(error: ApiError): Failure {
  const failure = { reason: reasonOfCode(error.code, isTooLarge(error.status)), message: reasonOf(error) };
  return withRetryAfter(failure, error.retryAfterSeconds);
}

function withRetryAfter(failure: Failure, seconds: number | undefined): Failure {
  return seconds === undefined || !(seconds > 0) ? failure : { ...failure, retryAfterMs: seconds * 1000 };
}

function reasonOfCode(code: number, isAhead: boolean): FailureReason {
  if (isAhead) return 'Ahead';
  switch (code) {
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotServed';
    case 410:
      return 'Expired';
    case 429:
      return 'Throttled';
    default:
      return code >= 400 && code < 500 ? 'Invalid' : 'ServerError';
  }
}

// "Too large resource version": the server does not have the version that we have seen. A cause reports it; older servers report it only in
// the message.
function isTooLarge(status: Status): boolean {
  if (status.code !== undefined && status.code !== 504) return false;
  const causes = Array.isArray(status.details?.causes) ? status.details.causes : [];
  return (
    causes.some((cause) => cause.reason === 'ResourceVersionTooLarge') ||
    (typeof status.message === 'string' && status.message.includes('Too large resource version'))
  );
}
