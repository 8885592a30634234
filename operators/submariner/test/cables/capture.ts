// Continuous traffic through cables, and a capture of the packets that leave the gateways on the underlay. User packets carry a
// pattern: a captured packet that contains it was sent in clear.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Host } from '../../src/host/index.ts';
import { configure } from '../../src/local/index.ts';
import { realPrograms, tcpdump, type Underlay } from './underlay.ts';

/** 16 bytes that no other packet has. */
const MARKER = 'c0ffee15bad0cafec0ffee15bad0cafe';

export interface Capture {
  /** Packets on the underlay so far, and those of them that carry user data in clear. */
  count(): { readonly packets: number; readonly clear: number };
  stop(): Promise<void>;
}

/**
 * Gives the gateways a router that takes every packet: without one that answers, packets in clear would wait for its address
 * and not be seen.
 */
export function routeEverything({ gateways }: Underlay): void {
  for (const { namespace } of gateways) {
    configure(namespace, [
      'neigh replace 172.31.255.254 lladdr 02:00:00:00:00:fe dev veth0 nud permanent',
      'addr add fd31::1/64 dev veth0 nodad',
      'route replace default via fd31::fe dev veth0',
      'neigh replace fd31::fe lladdr 02:00:00:00:00:fe dev veth0 nud permanent',
    ]);
  }
}

export async function startCapture({ bridge }: Underlay): Promise<Capture> {
  const [program = '', ...args] = tcpdump.command;
  const flags = ['-i', 'br0', '-n', '-U', '-s', '0', '-B', '16384', '-Z', 'root', '-w', '-'];
  const child = spawn('nsenter', [`--net=/run/netns/${bridge}`, '--', program, ...args, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...tcpdump.env },
  });
  const pattern = Buffer.from(MARKER, 'hex');
  const seen = { packets: 0, clear: 0 };
  let rest: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  child.stdout.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    if (!hasHeader && rest.length >= FILE_HEADER) {
      rest = rest.subarray(FILE_HEADER);
      hasHeader = true;
    }
    while (hasHeader && rest.length >= PACKET_HEADER) {
      const end = PACKET_HEADER + rest.readUInt32LE(8);
      if (rest.length < end) break;
      seen.packets++;
      if (rest.subarray(PACKET_HEADER, end).includes(pattern)) seen.clear++;
      rest = rest.subarray(end);
    }
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error('tcpdump ended')));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('listening on')) resolve();
    });
  });
  return { count: () => ({ ...seen }), stop: () => end(child, 'SIGTERM') };
}

/** The sizes of the headers of the pcap format. */
const FILE_HEADER = 24;
const PACKET_HEADER = 16;

export interface Traffic {
  /** The number of answers so far. */
  received(): number;
  stop(): Promise<TrafficReport>;
}

export interface TrafficReport {
  readonly sent: number;
  readonly received: number;
  /** Packets without an answer that were sent before the last packet with one. */
  readonly lost: number;
  /** The longest run of such packets. It does not depend on when the sender gets to run. */
  readonly lostInARow: number;
  /** The longest time without an answer. */
  readonly outageMs: number;
}

/** Where packets are sent from. */
export interface Sender {
  readonly local: { readonly sourceIP: string | undefined; readonly sourceIP6?: string };
  host(): Host;
}

/** Packets from one gateway to another, at a fixed rate until it is stopped; five minutes at most. */
export function startTraffic(from: Sender, address: string, intervalMs = 5): Traffic {
  const source = (address.includes(':') ? from.local.sourceIP6 : from.local.sourceIP) ?? '';
  const flags = ['-n', '-D', '-i', String(intervalMs / 1000), '-w', '300', '-p', MARKER, '-I', source, address];
  const child = from.host().start([...realPrograms.ping, ...flags]);
  const answers = new Map<number, number>();
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const [, seconds, number] = /^\[([\d.]+)\] .*icmp_seq=(\d+) ttl/.exec(line) ?? [];
      if (number !== undefined && !answers.has(Number(number))) answers.set(Number(number), Number(seconds) * 1000);
      summary = /^(\d+) packets transmitted/.exec(line)?.[1] ?? summary;
    }
  });
  let summary: string | undefined;
  return {
    received: () => answers.size,
    async stop() {
      await end(child, 'SIGINT');
      const times = [...answers.values()].toSorted((a, b) => a - b);
      const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      const numbers = [0, ...answers.keys()].toSorted((a, b) => a - b);
      const runs = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0) - 1);
      return {
        sent: Number(summary ?? 0),
        received: answers.size,
        lost: Math.max(0, ...answers.keys()) - answers.size,
        lostInARow: Math.max(0, ...runs),
        outageMs: Math.round(Math.max(0, ...gaps)),
      };
    },
  };
}

async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill(signal);
  await ended;
}
