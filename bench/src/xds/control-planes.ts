// The control planes that are measured, as processes: `sesame serve`, and Contour as `npm run setup:real -- contour` builds it.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import sesame from '@capstan/sesame';
import { freePorts } from '@capstan/testing';
import { IMAGE_ENVIRONMENT } from '../measure/image-environment.ts';
import type { KeyPair, Place } from './objects.ts';
import type { Expected } from './subscriptions.ts';

export interface ControlPlane extends Place {
  readonly name: 'sesame' | 'contour';
  /** The namespace of its own objects: leases, configuration. */
  readonly ownNamespace: string;
  readonly isSplit: boolean;
  readonly env: Readonly<Record<string, string>>;
  definitions(): readonly object[];
  secretName(index: number, pair: KeyPair): string;
  command(kubeconfig: string, ports: readonly number[], options: StartOptions): readonly [string, ...string[]];
}

export interface StartOptions {
  /** Only its own namespace: where another one works on the same server. */
  readonly isAlone: boolean;
  /** More flags than the default ones. */
  readonly flags?: readonly string[];
  /** Those of an earlier process, which a kept snapshot depends on; free ones by default. */
  readonly ports?: readonly number[];
}

export interface RunningControlPlane {
  readonly pid: number;
  readonly port: number;
  readonly ports: readonly number[];
  /** `performance.now()` of its start. */
  readonly began: number;
  stop(): Promise<void>;
  /** By SIGKILL: nothing is written any more. */
  kill(): Promise<void>;
}

export const SESAME: ControlPlane = {
  name: 'sesame',
  namespace: 'sesame',
  group: 'projectsesame.io',
  ownNamespace: 'projectsesame',
  isSplit: true,
  // As the embedded node starts it.
  env: IMAGE_ENVIRONMENT,
  definitions: () => sesame.kinds.map((kind) => kind.crd() as object),
  secretName: (index) => `sesame/tls-${index}`,
  command: (kubeconfig, [xds = 0, health = 0, debug = 0, http = 0], { isAlone, flags = [] }) => [
    process.execPath,
    // As the embedded node starts it.
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=8',
    ...(process.env['CAPSTAN_BENCH_NODE_FLAGS']?.split(' ').filter(Boolean) ?? []),
    // The program of the sources; or another, as `npm run build` creates it.
    process.env['CAPSTAN_BENCH_SESAME'] ?? join(import.meta.dirname, '../../../apps/capstan/src/programs/sesame.mjs'),
    ...serveFlags(kubeconfig, [xds, health, debug, http]),
    '--namespace=projectsesame',
    ...(isAlone ? [] : ['--watch-namespaces=sesame']),
    ...flags,
  ],
};

export const CONTOUR: ControlPlane = {
  name: 'contour',
  namespace: 'contour',
  group: 'projectcontour.io',
  ownNamespace: 'projectcontour',
  isSplit: false,
  env: {},
  definitions: () => JSON.parse(readFileSync(join(contourFolder(), 'crds.json'), 'utf8')) as object[],
  secretName(index, pair) {
    const certificate = Buffer.from(pair['tls.crt'], 'base64');
    return `contour/tls-${index}/${createHash('sha1').update(certificate).digest('hex').slice(0, 10)}`;
  },
  command: (kubeconfig, ports, { isAlone, flags = [] }) => [
    join(contourFolder(), 'contour'),
    ...serveFlags(kubeconfig, ports),
    '--leader-election-resource-namespace=projectcontour',
    ...(isAlone ? [] : ['--watch-namespaces=contour']),
    ...flags,
  ],
};

function serveFlags(kubeconfig: string, [xds = 0, health = 0, debug = 0, http = 0]: readonly number[]): string[] {
  const address = (name: string, port: number) => [`--${name}-address=127.0.0.1`, `--${name}-port=${port}`];
  return [
    'serve',
    `--kubeconfig=${kubeconfig}`,
    '--insecure',
    ...address('xds', xds),
    ...address('health', health),
    ...address('debug-http', debug),
    ...address('http', http),
  ];
}

/** Names the programs that a measurement beside Contour lacks, and how to get them. */
export function missingContour(): string | undefined {
  return existsSync(join(contourFolder(), 'contour'))
    ? undefined
    : 'Contour is not built; run npm run setup:real -- contour';
}

function contourFolder(): string {
  return join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'contour');
}

export function expectedOf(plane: ControlPlane, size: number, pairs: readonly KeyPair[]): Expected {
  const { namespace, isSplit } = plane;
  const secretNames = pairs.slice(0, Math.ceil(size / 2)).map((pair, at) => plane.secretName(at * 2, pair));
  return { namespace, size, isSplit, plainRoutes: 'ingress_http', secretNames };
}

/** Its start only: a client finds out when it serves. */
export async function startControlPlane(
  plane: ControlPlane,
  kubeconfig: string,
  options: StartOptions,
): Promise<RunningControlPlane> {
  const ports = options.ports ?? (await freePorts(4));
  const [program, ...args] = plane.command(kubeconfig, ports, options);
  const began = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...plane.env } });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-4000);
    if (process.env['CAPSTAN_BENCH_LOG']) process.stderr.write(chunk);
  });
  let isStopping = false;
  child.once('exit', (code) => {
    if (!isStopping) process.stderr.write(`${plane.name}: ended with code ${code ?? 'none'}: ${output}\n`);
  });
  const end = async (signal: NodeJS.Signals) => {
    isStopping = true;
    if (isOver(child)) return;
    const over = once(child, 'close');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await over;
    clearTimeout(timer);
  };
  return {
    pid: child.pid ?? 0,
    port: ports[0] ?? 0,
    ports,
    began,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

const STOP_LIMIT_MS = 10_000;
const isOver = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
