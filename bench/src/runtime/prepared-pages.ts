// A server that answers lists from prepared bytes, so that only parsing and filling are measured, and nothing of a server. Its watches stay
// silent.
import type { ApiResponse, Transport, WatchStream } from '@capstan/kube';
import { listedWebProxy, WebProxy } from './web-proxy.ts';

export interface PreparedPages {
  readonly pages: readonly Buffer[];
  readonly objects: number;
  readonly bytes: number;
}

export const PAGE_SIZE = 500;

export function preparePages(objects: number, hasManagedFields: boolean): PreparedPages {
  const pages: Buffer[] = [];
  for (let first = 0; first < objects; first += PAGE_SIZE) {
    const last = Math.min(first + PAGE_SIZE, objects);
    const items = Array.from({ length: last - first }, (_, index) => listedWebProxy(first + index, hasManagedFields));
    const next = last < objects ? { continue: String(pages.length + 1) } : {};
    const metadata = { resourceVersion: '9000000', ...next };
    pages.push(Buffer.from(JSON.stringify({ apiVersion: WebProxy.apiVersion, kind: 'WebProxyList', metadata, items })));
  }
  return { pages, objects, bytes: pages.reduce((sum, page) => sum + page.length, 0) };
}

/** The least work of any reader of these bytes. */
export function parsePage(page: Buffer): unknown {
  return JSON.parse(page.toString('utf8'));
}

export function pagesTransport({ pages }: PreparedPages): Transport {
  return {
    address: 'prepared pages',
    async request({ path, query }) {
      if (!path.endsWith(`/${WebProxy.plural}`)) return answer(emptyList(path));
      const page = pages[Number(query?.['continue'] ?? 0)];
      return answer(page === undefined ? emptyList(path) : parsePage(page));
    },
    async watch({ query, signal }) {
      // As servers did before streamed lists: refused, and paged lists follow.
      if (query?.['sendInitialEvents'] !== undefined) return refused();
      return silence(signal);
    },
    close: () => Promise.resolve(),
  };
}

function answer(body: unknown): ApiResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function emptyList(path: string): unknown {
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '9000000', selfLink: path }, items: [] };
}

function refused(): ApiResponse {
  const message = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
  const body = { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message };
  return { status: 422, headers: { 'content-type': 'application/json' }, body };
}

/** A watch that brings nothing until it is ended. */
function silence(signal: AbortSignal | undefined): WatchStream {
  const end = { done: true, value: undefined } as const;
  const ended = new Promise<typeof end>((resolve) => {
    if (signal === undefined || signal.aborted) resolve(end);
    else signal.addEventListener('abort', () => resolve(end), { once: true });
  });
  return { [Symbol.asyncIterator]: () => ({ next: () => ended, return: () => Promise.resolve(end) }) };
}
