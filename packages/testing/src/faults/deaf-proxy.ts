// A TCP proxy between a client and a server that stops to forward on demand, as a broken load balancer does: it accepts
// connections, forwards their beginning, keeps them open, answers keep-alive probes, and delivers nothing more.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface DeafProxy {
  readonly port: number;
  /** Connections that the proxy holds open and has stopped to forward. */
  readonly deaf: number;
  /** Stops to forward on open connections, and on new ones after their beginning, until `heal`. */
  deafen(options?: DeafenOptions): void;
  /** Forwards new connections whole. Connections that are deaf stay deaf. */
  heal(): void;
  close(): Promise<void>;
}

export interface DeafenOptions {
  /** By the first bytes that the client sent, without TLS its request line and headers; default every connection. */
  readonly only?: (opening: string) => boolean;
  /** Bytes of the server that a new connection still forwards. Default 0. */
  readonly beginning?: number;
}

/** Listens on 127.0.0.1 and forwards to a port there. */
export async function startDeafProxy(target: number): Promise<DeafProxy> {
  const connections = new Set<Connection>();
  let deafening: DeafenOptions | undefined;

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const connection: Connection = { client, upstream, opening: '', left: Number.POSITIVE_INFINITY };
    connections.add(connection);
    client.on('data', (chunk: Buffer) => {
      if (connection.opening === '') {
        connection.opening = chunk.toString('latin1');
        if (deafening !== undefined && isMeant(connection, deafening)) connection.left = deafening.beginning ?? 0;
        upstream.write(chunk);
      } else if (connection.left > 0) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, connection.left);
      connection.left -= part.length;
      if (part.length > 0) client.write(part);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        // A deaf proxy does not forward the end either.
        if (one === upstream && connection.left <= 0) return;
        other.destroy();
        connections.delete(connection);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();

  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get deaf() {
      return [...connections].filter(({ left }) => left <= 0).length;
    },
    deafen(options = {}) {
      deafening = options;
      for (const connection of connections) if (isMeant(connection, options)) connection.left = 0;
    },
    heal() {
      deafening = undefined;
    },
    async close() {
      for (const { client, upstream } of connections) {
        client.destroy();
        upstream.destroy();
      }
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  /** The first chunk of the client. */
  opening: string;
  /** Bytes of the server that are still forwarded. */
  left: number;
}

function isMeant({ opening }: Connection, { only }: DeafenOptions): boolean {
  return only === undefined || (opening !== '' && only(opening));
}
