// Classifies a registry's refusal by its status and the codes in its body.
import { type RegistryError, RegistryErrors } from './errors.ts';

/** The error for an answer of 400 or more. */
export function failureOf(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  what: string,
  hasCredentials: boolean,
  now: number,
): RegistryError {
  const { codes, detail } = errorsIn(body);
  const pause = retryAfter(headers['retry-after'], now);
  if (status === 429 || codes.includes('TOOMANYREQUESTS')) return RegistryErrors.TooManyRequests(what, pause);
  if (status === 401) return RegistryErrors.Unauthorized(what, hasCredentials);
  if (status === 403 || codes.includes('DENIED')) return RegistryErrors.Denied(what);
  if (status === 404) return RegistryErrors.NotFound(what);
  if (status >= 500 && status !== 501) return RegistryErrors.Unavailable(what, `it answered ${status}`, pause);
  return RegistryErrors.Refused(what, status, detail);
}

/** Seconds, or a date. */
export function retryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = typeof header === 'string' ? header.trim() : '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function errorsIn(body: Buffer): { codes: string[]; detail: string } {
  try {
    const { errors } = JSON.parse(body.toString('utf8')) as { errors?: unknown };
    if (!Array.isArray(errors)) return { codes: [], detail: '' };
    const list = errors.filter((each): each is Record<string, unknown> => typeof each === 'object' && each !== null);
    const codes = list
      .map(({ code }) => (typeof code === 'string' ? code : ''))
      .filter((code) => /^[A-Z_]{1,40}$/.test(code));
    return { codes, detail: codes.join(', ') };
  } catch {
    return { codes: [], detail: '' };
  }
}
