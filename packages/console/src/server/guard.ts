// The checks that every request passes before anything reads it. The page is on the user's machine, so that other pages in the same
// browser, and names that were rebound to 127.0.0.1, are the opponents.
import type { IncomingHttpHeaders } from 'node:http';
import type { Access } from './access.ts';

export interface GuardedRequest {
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export const TOKEN_HEADER = 'capstan-token';
/** The only path that needs no token: it exchanges a code for one. */
export const LOGIN_PATH = '/api/login';

/** The names under which the console is served: requests for any other come from a rebound name. */
export interface ServedAs {
  readonly scheme: 'http' | 'https';
  readonly port: number;
  /** As in a URL: an IPv6 address has brackets. */
  readonly names: readonly string[];
}

export const LOOPBACK_NAMES: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];

/** Undefined for a request that may be answered. */
export function refusalOf(
  request: GuardedRequest,
  { scheme, port, names }: ServedAs,
  access: Access,
): Refusal | undefined {
  const { method, path, headers } = request;
  const host = headers.host ?? '';
  // Browsers leave out the port of the scheme.
  const isServed = names.some(
    (name) => host === `${name}:${port}` || (scheme === 'https' && port === 443 && host === name),
  );
  if (!isServed) {
    return {
      status: 421,
      message: `this console does not answer for the host ${JSON.stringify(host)}; open ${scheme}://${names[0] ?? ''}:${port}/`,
    };
  }
  if (headers.origin !== undefined && headers.origin !== `${scheme}://${host}`)
    return { status: 403, message: 'a page of another origin may not use this console' };
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return { status: 403, message: 'another site may not use this console' };
  const isApi = path === '/api' || path.startsWith('/api/');
  if (method !== 'GET' && (method !== 'POST' || !isApi))
    return { status: 405, message: `the method ${method} is not used here` };
  if (!isApi) return undefined;
  if (method === 'POST' && !/^application\/json(?:\s*;|$)/i.test(headers['content-type'] ?? ''))
    return { status: 415, message: 'the body must be application/json' };
  if (access.isBlocked) return { status: 429, message: 'too many wrong codes or tokens; wait a minute' };
  if (path === LOGIN_PATH) return method === 'POST' ? undefined : { status: 405, message: 'post the code' };
  const token = headers[TOKEN_HEADER];
  if (typeof token !== 'string' || token === '')
    return { status: 401, message: 'a token is required; open the address that capstan console --code prints' };
  if (access.isValid(token)) return undefined;
  return {
    status: 401,
    message: 'the token is not one of this process; open the address that capstan console --code prints',
  };
}

/** The headers of every answer. */
export function answerHeaders(isApi: boolean, nonce: string): Record<string, string> {
  return {
    'content-security-policy':
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...(isApi ? { 'cache-control': 'no-store' } : {}),
  };
}
