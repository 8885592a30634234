// Pings through a cable, to an address of the other cluster: whether packets pass, and how long they take.
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Host } from '../host/index.ts';

export interface Latency {
  /** In nanoseconds. */
  readonly last: number;
  readonly min: number;
  readonly average: number;
  readonly max: number;
  readonly stdDev: number;
}

export interface Health {
  readonly status: 'unknown' | 'ok' | 'failed';
  readonly message?: string;
  readonly latency?: Latency;
}

export interface HealthCheck {
  current(): Health;
  stop(): void;
}

export interface HealthCheckOptions {
  readonly host: Host;
  readonly address: string;
  readonly sourceIP: string | undefined;
  readonly intervalSeconds: number;
  /** More lost in a row than this is a failure. */
  readonly maxPacketLoss: number;
  /** Called when the status changes. */
  readonly changed?: () => void;
}

const WINDOW = 1000;

export function startHealthCheck(options: HealthCheckOptions): HealthCheck {
  const { host, address, sourceIP, intervalSeconds, maxPacketLoss, changed = () => {} } = options;
  const samples: number[] = [];
  let lost = 0;
  let missing: string | undefined;
  let status: Health['status'] = 'unknown';
  const set = (next: Health['status']) => {
    if (status === next) return;
    status = next;
    changed();
  };
  const source = sourceIP === undefined ? [] : ['-I', sourceIP];
  // -O reports each ping that has no answer when the next is sent.
  const command = [...host.programs.ping, '-n', '-O', '-i', String(intervalSeconds), ...source, address];
  const child: ChildProcess = host.start(command);
  child.once('error', () => {
    missing = 'ping is not installed; install the package iputils-ping in the gateway’s image';
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const time = /time=([\d.]+) ms/.exec(line)?.[1];
      if (time !== undefined) {
        lost = 0;
        samples.push(Number(time) * 1e6);
        if (samples.length > WINDOW) samples.shift();
        set('ok');
      } else if (/no answer yet|Unreachable|Time to live exceeded/i.test(line)) {
        lost++;
        if (lost > maxPacketLoss) set('failed');
      }
    });
  }
  return {
    current() {
      const latency = latencyOf(samples);
      const message =
        missing ??
        (status === 'failed'
          ? `Failed to successfully ping the remote endpoint IP "${address}" (${lost} lost in a row)`
          : undefined);
      return { status, ...(message !== undefined && { message }), ...(latency !== undefined && { latency }) };
    },
    stop: () => child.kill('SIGTERM'),
  };
}

/** Figures of the newest pings; undefined before the first answer. */
export function latencyOf(samples: readonly number[]): Latency | undefined {
  const last = samples.at(-1);
  if (last === undefined) return undefined;
  const average = samples.reduce((sum, each) => sum + each, 0) / samples.length;
  const variance = samples.reduce((sum, each) => sum + (each - average) ** 2, 0) / samples.length;
  return { last, min: Math.min(...samples), average, max: Math.max(...samples), stdDev: Math.sqrt(variance) };
}

/** The next step of 1, 2, 5, 10, …: figures in a status move by steps, so that a quiet cable is not a write a second. */
export function bucketOf(nanoseconds: number): number {
  if (nanoseconds <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(nanoseconds));
  const step = [1, 2, 5, 10].find((each) => each * power >= nanoseconds * (1 - 1e-9)) ?? 10;
  return Math.round(step * power);
}
