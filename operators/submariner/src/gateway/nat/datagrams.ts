// UDP datagrams of a gateway. A socket belongs to the network namespace of its process; where the gateway works in another, a
// small process in that namespace passes them on. One that dies is started again.
import type { ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { backOff, type Clock, type Logger, reasonOf, sleep } from '@capstan/kube';
import type { Host } from '../../host/index.ts';
import type { PeerAddress } from './message.ts';

export interface Datagrams {
  readonly port: number;
  send(data: Uint8Array, to: PeerAddress): void;
  close(): void;
}

export type OnDatagram = (data: Buffer, from: PeerAddress) => void;

export interface DatagramOptions {
  readonly host: Host;
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function openDatagrams(options: DatagramOptions, onDatagram: OnDatagram): Promise<Datagrams> {
  return options.host.isOtherNamespace ? openRelay(options, onDatagram) : openHere(options.port, onDatagram);
}

export async function openHere(port: number, onDatagram: OnDatagram): Promise<Datagrams> {
  const socket = createSocket('udp4');
  socket.on('message', (data, { address: ip, port: from }) => onDatagram(data, { ip, port: from }));
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, () => resolve());
  });
  // A question that could not be sent is repeated later.
  socket.on('error', () => {});
  return {
    port: socket.address().port,
    send: (data, to) => socket.send(data, to.port, to.ip, () => {}),
    close: () => socket.close(),
  };
}

const BACK_OFF = { firstMs: 200, longestMs: 10_000 };

/** One that cannot be started at first is an error; one that dies later is started again, after longer pauses each time. */
async function openRelay({ host, port, clock, logger }: DatagramOptions, onDatagram: OnDatagram): Promise<Datagrams> {
  const closed = new AbortController();
  let relay = await startRelay(host, port, onDatagram);
  const bound = relay.port;
  const keep = async () => {
    let failures = 0;
    while (!closed.signal.aborted) {
      const begin = clock.now();
      await relay.ended;
      if (closed.signal.aborted) return;
      logger.warn('the relay of NAT discovery ended and is restarted', { port: bound });
      failures = clock.now() - begin > BACK_OFF.longestMs ? 1 : failures + 1;
      await sleep(clock, backOff(failures, BACK_OFF), closed.signal).catch(() => {});
      if (closed.signal.aborted) return;
      try {
        relay = await startRelay(host, bound, onDatagram);
        if (closed.signal.aborted) relay.child.kill('SIGTERM');
      } catch (error) {
        logger.warn('the relay of NAT discovery cannot be started', { port: bound, problem: reasonOf(error) });
      }
    }
  };
  void keep();
  return {
    port: bound,
    send: (data, to) => relay.send(data, to),
    close() {
      closed.abort();
      relay.child.kill('SIGTERM');
    },
  };
}

interface Relay {
  readonly child: ChildProcess;
  readonly port: number;
  readonly ended: Promise<void>;
  send(data: Uint8Array, to: PeerAddress): void;
}

/** One JSON line a datagram, in both directions. */
async function startRelay(host: Host, port: number, onDatagram: OnDatagram): Promise<Relay> {
  const program = fileURLToPath(new URL('./relay.ts', import.meta.url));
  const child = host.start([process.execPath, '--disable-warning=ExperimentalWarning', program, String(port)], 'pipe');
  const { stdout, stdin } = child;
  if (stdout === null || stdin === null) throw new TypeError('a relay without pipes was started');
  stdin.on('error', () => {});
  const ready = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  child.once('error', (error) => {
    ready.reject(error);
    ended.resolve();
  });
  child.once('exit', (code) => {
    ready.reject(new Error(`UDP port ${port}: cannot be opened (exit code ${code})`));
    ended.resolve();
  });
  createInterface({ input: stdout }).on('line', (line) => {
    const { listening, data, ip, port: from } = JSON.parse(line) as RelayLine;
    if (listening !== undefined) ready.resolve(listening);
    else onDatagram(Buffer.from(data, 'base64'), { ip, port: from });
  });
  return {
    child,
    port: await ready.promise,
    ended: ended.promise,
    send: (data, to) => {
      stdin.write(`${JSON.stringify({ ...to, data: Buffer.from(data).toString('base64') })}\n`);
    },
  };
}

export interface RelayLine extends PeerAddress {
  readonly data: string;
  /** The first line: the port that is listened on. */
  readonly listening?: number;
}
