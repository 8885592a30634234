// A small registry of our own, for demonstrations and tests: the OCI distribution specification's pull, push and listing
// over HTTP or HTTPS, in memory or in a folder. It gives packages to Crossplane and takes them from `xpkg push`; other
// clients work with it as well. It is created for one machine and makes no other claim.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '@capstan/kube';
import { createGate, type RegistryAccess } from './access.ts';
import { createMemoryStore } from './memory-store.ts';
import { createRoutes } from './routes.ts';
import type { RegistryStore } from './store.ts';

export interface RegistryOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default: any that is free. */
  readonly port?: number;
  /** Default: in memory. */
  readonly store?: RegistryStore;
  /** Default: open to everybody. */
  readonly access?: RegistryAccess;
  /** PEM of certificate and key; plain HTTP without. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Tags a page. Default 1000. */
  readonly tagPage?: number;
  /** Called with every request before it is answered; for tests. */
  onRequest?(request: { method: string; path: string; authorization: string | undefined }): void;
  readonly clock?: Clock;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

export interface RunningRegistry {
  /** `127.0.0.1:5055`: the part before the first slash of a reference. */
  readonly address: string;
  readonly store: RegistryStore;
  /** Settles when it has ended, after `close` or the signal. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Starts a registry; it answers when the promise resolves. */
export async function startRegistry(options: RegistryOptions = {}): Promise<RunningRegistry> {
  const { host = '127.0.0.1', port = 0, store = createMemoryStore(), access = { type: 'open' }, tls } = options;
  const gate = createGate(access, options.clock ?? systemClock);
  const route = createRoutes({ store, gate, tagPage: options.tagPage ?? 1000 });
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = request;
    options.onRequest?.({ method, path: url, authorization: headers.authorization });
    const base = `${tls === undefined ? 'http' : 'https'}://${headers.host ?? address}`;
    route(request, response, base).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  };
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
  const bound = (server.address() as AddressInfo).port;
  const address = `${host.includes(':') ? `[${host}]` : host}:${bound}`;
  const ended = new Promise<void>((resolve) => {
    server.once('close', () => resolve());
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
    return ended;
  };
  options.signal?.addEventListener('abort', () => void close(), { once: true });
  if (options.signal?.aborted) void close();
  return { address, store, ended, close };
}
