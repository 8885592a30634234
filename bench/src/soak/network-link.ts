// A TCP link between a program and the API server that can be cut, stopped and slowed down, as a network can.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface NetworkLink {
  readonly port: number;
  /** Ends all connections and refuses new ones until `heal`. */
  cut(): void;
  /** Keeps connections open and forwards nothing until `heal`. */
  stop(): void;
  /** Delays each part of the traffic until `heal`. */
  slow(delayMs: number): void;
  heal(): void;
  close(): Promise<void>;
}

type State = { readonly is: 'healthy' | 'cut' | 'stopped' } | { readonly is: 'slow'; readonly delayMs: number };

/** Listens on 127.0.0.1 and forwards to a port there. */
export async function startNetworkLink(target: number): Promise<NetworkLink> {
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  let state: State = { is: 'healthy' };

  const forward = (from: Socket, to: Socket) => {
    from.on('data', (chunk: Buffer) => {
      // The next part waits until this one has left, so that parts never change places.
      from.pause();
      const pass = () => {
        waiting.delete(pass);
        if (state.is === 'stopped') {
          waiting.add(pass);
          return;
        }
        to.write(chunk, () => from.resume());
      };
      if (state.is === 'slow') setTimeout(pass, state.delayMs);
      else pass();
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((client) => {
    if (state.is === 'cut') {
      client.on('error', () => {});
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    sockets.add(client).add(upstream);
    forward(client, upstream);
    forward(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
    waiting.clear();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut() {
      state = { is: 'cut' };
      destroyAll();
    },
    stop() {
      state = { is: 'stopped' };
    },
    slow(delayMs) {
      state = { is: 'slow', delayMs };
    },
    heal() {
      state = { is: 'healthy' };
      for (const pass of waiting) pass();
    },
    async close() {
      destroyAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
