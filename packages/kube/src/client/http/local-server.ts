// A test server for HTTP or HTTPS on 127.0.0.1 that counts its connections and can cut them.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { type PeerCertificate, TLSSocket } from 'node:tls';

export interface LocalServer {
  /** The address with the scheme, on 127.0.0.1. */
  readonly address: string;
  readonly port: number;
  /** The number of connections accepted so far. */
  readonly accepted: number;
  readonly open: number;
  /** Resolves as soon as `count` connections are open. */
  whenOpen(count: number): Promise<void>;
  /** Cuts every connection at once. */
  cut(): void;
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

export async function startServer(handler: Handler, tls?: ServerOptions): Promise<LocalServer> {
  const listener = (request: IncomingMessage, response: ServerResponse) => void handler(request, response);
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  let accepted = 0;
  const changed = () => {
    for (const check of waiting) check();
  };
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      changed();
    });
    changed();
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server.address());
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    whenOpen: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (sockets.size !== count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    cut,
    async close() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Returns the client's certificate. */
export function peerOf({ socket }: IncomingMessage): PeerCertificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerCertificate() : undefined;
}

export function answer(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
