// UDP datagrams of a gateway. A socket belongs to the network namespace of its process; where the gateway works in another, a
// small process in that namespace passes them on.
import { createSocket } from 'node:dgram';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Host } from '../../host/index.ts';
import type { PeerAddress } from './message.ts';

export interface Datagrams {
  readonly port: number;
  send(data: Uint8Array, to: PeerAddress): void;
  close(): void;
}

export type OnDatagram = (data: Buffer, from: PeerAddress) => void;

export function openDatagrams(host: Host, port: number, onDatagram: OnDatagram): Promise<Datagrams> {
  return host.isOtherNamespace ? openRelay(host, port, onDatagram) : openHere(port, onDatagram);
}

export async function openHere(port: number, onDatagram: OnDatagram): Promise<Datagrams> {
  const socket = createSocket('udp4');
  socket.on('message', (data, { address: ip, port: from }) => onDatagram(data, { ip, port: from }));
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, () => resolve());
  });
  // What cannot be sent is asked again.
  socket.on('error', () => {});
  return {
    port: socket.address().port,
    send: (data, to) => socket.send(data, to.port, to.ip, () => {}),
    close: () => socket.close(),
  };
}

/** One JSON line a datagram, in both directions. */
async function openRelay(host: Host, port: number, onDatagram: OnDatagram): Promise<Datagrams> {
  const relay = fileURLToPath(new URL('./relay.ts', import.meta.url));
  const program = [process.execPath, '--disable-warning=ExperimentalWarning', relay];
  const child = host.start([...program, String(port)], 'pipe');
  const { stdout, stdin } = child;
  if (stdout === null || stdin === null) throw new TypeError('a relay without pipes was started');
  stdin.on('error', () => {});
  const ready = Promise.withResolvers<number>();
  child.once('error', ready.reject);
  child.once('exit', (code) => ready.reject(new Error(`UDP port ${port}: cannot be opened (exit code ${code})`)));
  createInterface({ input: stdout }).on('line', (line) => {
    const { listening, data, ip, port: from } = JSON.parse(line) as RelayLine;
    if (listening !== undefined) ready.resolve(listening);
    else onDatagram(Buffer.from(data, 'base64'), { ip, port: from });
  });
  const bound = await ready.promise;
  return {
    port: bound,
    send: (data, to) => {
      stdin.write(`${JSON.stringify({ ...to, data: Buffer.from(data).toString('base64') })}\n`);
    },
    close: () => child.kill('SIGTERM'),
  };
}

export interface RelayLine extends PeerAddress {
  readonly data: string;
  /** The first line: the port that is listened on. */
  readonly listening?: number;
}
