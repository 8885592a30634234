// Requests to the server. Each carries the token in a header; the browser sends it nowhere by itself.
import { signal } from '@preact/signals';
import type { LoginAnswer, ProblemAnswer } from '../../api-types.ts';
import { keep, kept } from './preferences.ts';

/** `none`: no code was given. `refused`: the code or the token is not one of this server. */
export type Access = 'none' | 'granted' | 'refused';

export const access = signal<Access>(kept('token') === null ? 'none' : 'granted');

/** An answer with a status of 400 or more, or 0 where the server did not answer. */
export class Problem extends Error {
  readonly status: number;
  readonly role: string | undefined;
  constructor(status: number, message: string, role?: string) {
    super(message);
    this.status = status;
    this.role = role;
  }
}

/** Exchanges the code of the fragment, and removes the fragment from the address and from the history. */
export async function logIn(): Promise<void> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? [];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const { token } = await send<LoginAnswer>('/api/login', { method: 'POST', body: { code } });
    keep('token', token);
    access.value = 'granted';
  } catch (error) {
    // A code that was used before is no reason to end a session that works.
    if (error instanceof Problem && error.status > 0 && access.value === 'none') access.value = 'refused';
  }
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => send<T>(path, { signal });
export const post = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  send<T>(path, { method: 'POST', body, signal });

export function openEvents(lastId: string | undefined, signal: AbortSignal): Promise<Response> {
  const headers = { ...tokenHeader(), ...(lastId !== undefined && { 'last-event-id': lastId }) };
  return fetch('/api/events', { headers, signal, cache: 'no-store' });
}

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

async function send<T>(path: string, { method = 'GET', body, signal }: Sent): Promise<T> {
  const headers = { ...tokenHeader(), ...(body !== undefined && { 'content-type': 'application/json' }) };
  const init = {
    method,
    headers,
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const response = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'the console does not answer');
  });
  const answer = (await response.json().catch(() => ({ message: `the status is ${response.status}` }))) as unknown;
  if (response.ok) return answer as T;
  const { message, role } = answer as ProblemAnswer;
  if (response.status === 401 && path !== '/api/login') refuse();
  throw new Problem(response.status, message, role);
}

export function refuse(): void {
  keep('token', null);
  access.value = 'refused';
}

function tokenHeader(): Record<string, string> {
  const token = kept('token');
  return token === null ? {} : { 'capstan-token': token };
}
