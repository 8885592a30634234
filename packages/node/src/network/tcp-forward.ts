import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Backend } from './backends.ts';

export interface ForwardOptions {
  address: string;
  port: number;
  /** The backends to try, in order, for this client. */
  backends(client: string): readonly Backend[];
}

export interface Forward {
  /** Stops listening, and ends open connections. */
  close(): Promise<void>;
}

const CONNECT_MS = 5_000;

/** Listens and passes connections on; rejects when the address cannot be had. */
export async function forwardTcp({ address, port, backends }: ForwardOptions): Promise<Forward> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    track(client);
    void pass(client);
  });

  function track(socket: Socket): void {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // A connection that breaks concerns its two ends, which see it themselves.
    socket.on('error', () => {});
  }

  async function pass(client: Socket): Promise<void> {
    for (const backend of backends(client.remoteAddress ?? '')) {
      const upstream = await reach(backend);
      if (upstream === undefined) continue;
      track(upstream);
      upstream.setNoDelay(true);
      client.setNoDelay(true);
      client.pipe(upstream).pipe(client);
      client.once('close', () => upstream.destroy());
      upstream.once('close', () => client.destroy());
      client.resume();
      return;
    }
    // There is no endpoint: reset the connection, as a closed port would.
    client.resetAndDestroy();
  }

  await listen(server, address, port);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function reach({ address, port }: Backend): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, allowHalfOpen: true });
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      resolve(socket);
    });
    socket.once('error', () => resolve(undefined));
  });
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Never shared: another listener on the port is an error.
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}
