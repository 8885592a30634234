import { ApiError, type Status } from '../errors.ts';
import { isRecord } from '../json/is-record.ts';
import { retryAfterSeconds } from './retry.ts';
import type { ApiRequest, ApiResponse } from './transport.ts';

/** Returns the error of a response, with the server's Status if there is one. */
export function errorOfResponse(
  response: ApiResponse,
  request: Pick<ApiRequest, 'method' | 'path'>,
  address: string,
  now: number,
): ApiError {
  return new ApiError({
    code: response.status,
    status: statusOfBody(response.body),
    method: request.method,
    path: request.path,
    address,
    retryAfterSeconds: retryAfterSeconds(response.headers, now),
  });
}

/** Returns the error of an ERROR event of a watch. */
export function errorOfWatchEvent(object: unknown, path: string, address: string): ApiError {
  const status = statusOfBody(object);
  return new ApiError({ code: status.code ?? 500, status, method: 'WATCH', path, address });
}

export function isStatus(value: unknown): value is Status {
  return isRecord(value) && value['kind'] === 'Status';
}

// Proxies and load balancers answer in HTML or plain text. Show a short text, but not a page.
function statusOfBody(body: unknown): Status {
  if (isStatus(body)) return body;
  if (typeof body !== 'string') return {};
  const text = body.replace(/\s+/g, ' ').trim();
  return text === '' || text.startsWith('<') ? {} : { message: text.slice(0, MAX_TEXT) };
}

const MAX_TEXT = 300;
