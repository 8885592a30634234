import { createSocket, type Socket } from 'node:dgram';
import type { Clock, Timer } from '@capstan/kube';
import type { Forward, ForwardOptions } from './tcp-forward.ts';

/** A client that is silent for this long is forgotten. */
const IDLE_MS = 60_000;

/** Listens and passes datagrams on, with a socket for each client by which the answers come back. */
export async function forwardUdp({ address, port, backends }: ForwardOptions, clock: Clock): Promise<Forward> {
  const server = createSocket('udp4');
  const sessions = new Map<string, { socket: Socket; timer: Timer }>();

  function end(client: string): void {
    const session = sessions.get(client);
    sessions.delete(client);
    session?.timer.cancel();
    session?.socket.close();
  }

  function sessionFor(client: string, host: string, clientPort: number): Socket | undefined {
    const known = sessions.get(client);
    if (known !== undefined) {
      known.timer.cancel();
      known.timer = clock.after(IDLE_MS, () => end(client));
      return known.socket;
    }
    const [backend] = backends(host);
    if (backend === undefined) return undefined;
    const socket = createSocket('udp4');
    socket.on('error', () => end(client));
    socket.on('message', (message) => server.send(message, clientPort, host, () => {}));
    socket.connect(backend.port, backend.address);
    sessions.set(client, { socket, timer: clock.after(IDLE_MS, () => end(client)) });
    return socket;
  }

  server.on('message', (message, { address: host, port: clientPort }) => {
    const socket = sessionFor(`${host}:${clientPort}`, host, clientPort);
    if (socket === undefined) return;
    const send = () => socket.send(message, () => {});
    // A datagram that comes before the socket knows its peer waits for that.
    try {
      socket.remoteAddress();
      send();
    } catch {
      socket.once('connect', send);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.bind({ address, port, exclusive: true }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
  return {
    close: () =>
      new Promise((resolve) => {
        for (const client of sessions.keys()) end(client);
        server.close(() => resolve());
      }),
  };
}
