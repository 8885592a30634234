// Traffic through cables: pings, and a capture of them between the gateways.
import { spawn } from 'node:child_process';
import type { Cable } from '../../src/drivers/driver.ts';
import type { PreSharedKeys } from '../../src/drivers/pre-shared-keys.ts';
import { realPrograms, type TestGateway, tcpdump, type Underlay } from './underlay.ts';

export function cableOf(from: TestGateway, to: TestGateway, config: Readonly<Record<string, string>>): Cable {
  return {
    name: `submariner-cable-${to.id}-${to.local.privateIP.replaceAll('.', '-')}`,
    cluster: to.id,
    remoteIP: to.local.privateIP,
    remotePrivateIP: to.local.privateIP,
    remoteSubnets: to.local.subnets,
    remoteConfig: config,
    options: {},
    usingNAT: false,
    role: from.id === to.id ? 'server' : 'either',
  };
}

/** Pre-shared keys as a gateway has them, newest first. */
export function testKeys(...given: readonly Buffer[]): PreSharedKeys {
  return () => Promise.resolve(given.map((bytes) => ({ id: bytes.toString('hex').slice(0, 8), bytes })));
}

export interface Pings {
  readonly sent: number;
  readonly received: number;
}

/** Pings from one gateway, from its own address; a bounded number at a bounded rate. */
export async function ping(
  from: TestGateway,
  address: string,
  { count = 3, intervalMs = 50 }: { count?: number; intervalMs?: number } = {},
): Promise<Pings> {
  const { received } = await pingOutage(from, address, { count, intervalMs });
  return { sent: count, received };
}

/** A packet is lost if it has no answer when the packets of this time after it were sent. */
const LOST_AFTER_MS = 1000;

/**
 * As ping, and the longest run of pings without an answer, in milliseconds of their interval. More pings are sent until the fate of each
 * counted one is known. The program alone would wait for two round trips after the last one: on a busy machine the last answers of
 * an intact cable come later than that.
 */
export async function pingOutage(
  from: TestGateway,
  address: string,
  { count, intervalMs }: { count: number; intervalMs: number },
): Promise<{ received: number; outageMs: number }> {
  const source = (address.includes(':') ? from.local.sourceIP6 : from.local.sourceIP) ?? '';
  const limitSeconds = String(Math.ceil((count * intervalMs) / 1000) + 60);
  const flags = ['-n', '-O', '-I', source, '-i', String(intervalMs / 1000), '-w', limitSeconds, address];
  const child = from.host().start([...realPrograms.ping, ...flags]);
  const answered = new Set<number>();
  let sent = 0;
  const isDecided = () => answered.size === count || sent >= count + LOST_AFTER_MS / intervalMs;
  const ended = new Promise((resolve) => child.once('close', resolve));
  // The rest of a line comes with the next chunk.
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    const lines = (text + more).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const [, number, hops] = /icmp_seq=(\d+)( ttl)?/.exec(line) ?? [];
      sent = Math.max(sent, Number(number ?? 0));
      if (hops !== undefined && Number(number) <= count) answered.add(Number(number));
    }
    if (isDecided()) child.kill('SIGINT');
  });
  await ended;
  const numbers = [0, ...answered, count + 1].toSorted((a, b) => a - b);
  const gaps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0) - 1);
  return { received: answered.size, outageMs: Math.max(0, ...gaps) * intervalMs };
}

/** Whether pings between two gateways cannot be recognised on the bridge between them. */
export async function isEncryptedOnWire(underlay: Underlay, from: TestGateway, to: TestGateway): Promise<boolean> {
  const [program = '', ...args] = tcpdump.command;
  const capture = spawn(
    'nsenter',
    [
      `--net=/run/netns/${underlay.bridge}`,
      '--',
      program,
      ...args,
      '-i',
      'br0',
      '-n',
      '-U',
      '-Z',
      'root',
      '-w',
      '-',
      'host',
      to.local.privateIP,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...tcpdump.env } },
  );
  const chunks: Buffer[] = [];
  capture.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve, reject) => {
    capture.once('error', reject);
    capture.once('close', () => reject(new Error('tcpdump ended')));
    capture.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('listening on')) resolve();
    });
  });
  const marker = 'c0ffee15c0ffee15';
  const flags = ['-n', '-c', '5', '-i', '0.05', '-p', marker, '-I', from.local.sourceIP ?? ''];
  const { stdout } = await from.host().run([...realPrograms.ping, ...flags, to.address]);
  if (!stdout.includes(' 0% packet loss')) throw new Error(`pings were lost: ${stdout}`);
  // Captured packets are written at once (-U); a packet that is not there by now was not sent.
  for (let tries = 0; tries < 50 && Buffer.concat(chunks).length < 1000; tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const ended = new Promise((resolve) => capture.once('close', resolve));
  capture.kill('SIGTERM');
  await ended;
  const seen = Buffer.concat(chunks);
  if (seen.length < 1000) throw new Error('the capture saw no packets');
  return !seen.includes(Buffer.from(marker, 'hex'));
}
