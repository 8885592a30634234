// When a request may be sent again, and how long to wait before.
//
// A request is sent again only when doing so cannot do anything twice that matters:
//
//   - It never reached the server (refused, no name, no route, proxy): any request. TLS failures are an exception: they
//     are settings that are wrong, and stay wrong.
//   - 429 and 503: the server turned it away before looking at it: any request.
//   - The answer was lost (reset), or 500, 502, 504: the request may have been carried out. Then only requests whose
//     repetition leaves the same state are sent again (`isRepeatable`):
//       GET                       always
//       apply                     the same fields of the same manager once more
//       PUT                       with resourceVersion a repetition is refused with Conflict when the first one won, and the
//                                 caller reads again; without, it means "whatever is there", once or twice
//       merge and strategic patch they name values, not changes
//       JSON patch                names changes (`add` to a list adds twice): only when a `test` of the resourceVersion guards it
//       DELETE                    could hit a successor of the same name: only with a uid or resourceVersion as precondition
//       POST                      never: with generateName it makes a second object, with a name it answers AlreadyExists
//                                 for an object that we may have made ourselves, which only the caller can judge
//     A dry run is always repeatable.
//   - Everything else (4xx, the time-out of the call, the caller's abort): never.

import type { TransportError } from '../errors.ts';
import { isRecord } from '../json/is-record.ts';
import { backOff } from './back-off.ts';
import type { ApiRequest, ApiResponse } from './transport.ts';

export interface RetryOptions {
  /** The maximal number of attempts. Default: 5. */
  attempts?: number;
  /** The wait before the second attempt, doubled for each further one. Default: 200. */
  baseMs?: number;
  /** The longest wait that the client chooses itself. Default: 5,000. */
  maxMs?: number;
  /** The longest wait that a server may request. For a longer one, the call fails at once and is not retried earlier. Default: 30,000. */
  maxRetryAfterMs?: number;
}

export type RetryPolicy = Required<RetryOptions>;

export const DEFAULT_RETRY: RetryPolicy = { attempts: 5, baseMs: 200, maxMs: 5_000, maxRetryAfterMs: 30_000 };

/** Reports whether sending this request twice leaves the same state as sending it once. */
export function isRepeatable(request: ApiRequest): boolean {
  if (request.query?.['dryRun'] === 'All') return true;
  switch (request.method) {
    case 'GET':
    case 'PUT':
      return true;
    case 'PATCH':
      return request.contentType !== 'application/json-patch+json' || hasVersionTest(request.body);
    case 'DELETE':
      return hasPreconditions(request.body);
    default:
      return false;
  }
}

/** Whether this answer invites another attempt. */
export function isRetryableResponse(request: ApiRequest, response: ApiResponse): boolean {
  switch (response.status) {
    case 429:
    case 503:
      return true;
    case 500:
    case 502:
    case 504:
      return isRepeatable(request);
    default:
      return false;
  }
}

/** Whether this failure invites another attempt. */
export function isRetryableFailure(request: ApiRequest, error: TransportError): boolean {
  switch (error.kind) {
    case 'refused':
    case 'dns':
    case 'unreachable':
    case 'proxy':
    case 'reset':
      return !error.maybeSent || isRepeatable(request);
    default:
      return false;
  }
}

/**
 * Returns the milliseconds until attempt `attempt` (1 is the first repetition), or undefined if the server requests a longer wait than the
 * policy allows.
 */
export function retryDelay(
  policy: RetryPolicy,
  attempt: number,
  askedSeconds: number | undefined,
  random: () => number,
): number | undefined {
  const asked = (askedSeconds ?? 0) * 1000;
  if (asked > policy.maxRetryAfterMs) return undefined;
  return backOff(attempt, { firstMs: policy.baseMs, longestMs: policy.maxMs }, random, asked);
}

/** Returns the Retry-After header in seconds. The header holds seconds or a date. */
export function retryAfterSeconds(headers: Record<string, string>, now: number): number | undefined {
  const value = headers['retry-after']?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}

function hasVersionTest(patch: unknown): boolean {
  return (
    Array.isArray(patch) &&
    patch.some(
      (step: unknown) => isRecord(step) && step['op'] === 'test' && step['path'] === '/metadata/resourceVersion',
    )
  );
}

function hasPreconditions(body: unknown): boolean {
  const preconditions = isRecord(body) ? body['preconditions'] : undefined;
  return (
    isRecord(preconditions) && (preconditions['uid'] !== undefined || preconditions['resourceVersion'] !== undefined)
  );
}
