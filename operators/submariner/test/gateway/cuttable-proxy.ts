// A TCP proxy between a gateway and its API servers that can be cut: connections stay open, and nothing passes, as when a network
// drops every packet.
import { createServer, connect as open, type Socket } from 'node:net';

export interface CuttableProxy {
  readonly port: number;
  cut(): void;
  /** Lets everything pass again, also data that was sent meanwhile. */
  heal(): void;
  close(): Promise<void>;
}

export async function createCuttableProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (isCut) socket.pause();
  };
  const pass = (from: Socket, to: Socket) => {
    from.on('data', (chunk) => to.write(chunk));
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  };
  const server = createServer((inner) => {
    const outer = open(target);
    pass(inner, outer);
    pass(outer, inner);
    keep(inner);
    keep(outer);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server without a port');
  return {
    port: address.port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    heal() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
