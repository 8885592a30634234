import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext } from 'node:test';
import type { ApiResponse, WatchEvent, WatchStream } from '../transport.ts';
import { createHttpTransport, type HttpTransportOptions } from './http-transport.ts';
import { type Handler, startServer } from './local-server.ts';

export async function setup(t: TestContext, handler: Handler, options: Partial<HttpTransportOptions> = {}) {
  const server = await startServer(handler);
  const transport = createHttpTransport({ server: server.address, ...options });
  t.after(async () => {
    await transport.close();
    await server.close();
  });
  return { server, transport };
}

/** Creates a handler whose requests the test answers by hand. */
export function byHand() {
  const waiting: ((exchange: [IncomingMessage, ServerResponse]) => void)[] = [];
  const arrived: [IncomingMessage, ServerResponse][] = [];
  return {
    handler: (request: IncomingMessage, response: ServerResponse) => {
      const next = waiting.shift();
      if (next === undefined) arrived.push([request, response]);
      else next([request, response]);
    },
    next: () =>
      new Promise<[IncomingMessage, ServerResponse]>((resolve) => {
        const exchange = arrived.shift();
        if (exchange === undefined) waiting.push(resolve);
        else resolve(exchange);
      }),
  };
}

export function streamOf(result: WatchStream | ApiResponse): AsyncIterator<readonly WatchEvent[]> {
  assert.ok(Symbol.asyncIterator in result, 'a watch was expected');
  return result[Symbol.asyncIterator]();
}

export const event = (name: string, type: WatchEvent['type'] = 'ADDED') => ({ type, object: { metadata: { name } } });

export const lineOf = (name: string) => `${JSON.stringify(event(name))}\n`;

export const get = { method: 'GET', path: '/x' } as const;

export const watch = { method: 'GET', path: '/pods', query: { watch: 'true' } } as const;
