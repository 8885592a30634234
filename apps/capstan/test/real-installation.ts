// A real control plane with a node of ours that runs Capstan's pods as processes, from the built bundle, under the tokens of their
// ServiceAccounts: an installation as in production, without a container runtime.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deployment, Lease, Pod, silentLogger, sleep, systemClock } from '@capstan/kube';
import { createNode, type KnownImage } from '@capstan/node';
import { type RealCluster, type RealClusterOptions, startRealCluster } from '@capstan/testing';

export interface RealInstallation {
  readonly real: RealCluster;
  /** The program `capstan` of the bundle, to be run with Node.js. */
  readonly program: string;
  /** The folder for the files of this installation; removed at the end. */
  readonly folder: string;
  /** Runs `capstan`; never throws. */
  capstan(...argv: string[]): Promise<Ended>;
  /** Runs `kubectl`; throws when it fails. */
  kubectl(...argv: string[]): Promise<Ended>;
  /** Who holds the Lease of an operator. */
  leaderOf(operator: string): Promise<string>;
  podsOf(operator: string): Promise<Pod[]>;
  readyOf(operator: string): Promise<number>;
  close(): Promise<void>;
}

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RealInstallationOptions extends RealClusterOptions {
  /** Images beside `capstan`, by a folder with a package: an older version, for one. They come first. */
  images?(folder: string): readonly KnownImage[];
  /** Whether pods with other images wait for them for ever, as when they cannot be pulled; default false: they are simulated. */
  unknownImagesFail?: boolean;
}

export const SYSTEM = 'capstan-system';
const ROOT = new URL('../../../', import.meta.url).pathname;

export async function startRealInstallation(options: RealInstallationOptions = {}): Promise<RealInstallation> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-real-install-'));
  const bundle = join(folder, 'capstan');
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts'), '--to', bundle], { stdio: 'pipe' });
  symlinkSync(join(ROOT, 'node_modules'), join(bundle, 'node_modules'));
  const images = [...(options.images?.(folder) ?? []), capstanImage('capstan', bundle)];
  const real = await startRealCluster({ controllers: true, scheduler: true, ...options });
  const stopping = new AbortController();
  const { hostname, port } = new URL(real.url);
  const node = createNode({
    client: real.client,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    images,
    dataDir: join(folder, 'node'),
    apiServer: { host: hostname, port: Number(port) },
    ...(options.unknownImagesFail && { unknownImages: 'fail' }),
  });
  const running = node.run(stopping.signal);
  const program = join(bundle, 'bin', 'capstan.js');
  const { client } = real;
  return {
    real,
    program,
    folder,
    capstan: (...argv) => run(process.execPath, [program, ...argv], real.kubeconfigFile),
    async kubectl(...argv) {
      const ended = await run(real.program('kubectl'), argv, real.kubeconfigFile);
      assert.equal(ended.code, 0, `kubectl ${argv.join(' ')}: ${ended.err}`);
      return ended;
    },
    async leaderOf(operator) {
      const lease = await client.find(Lease, { namespace: SYSTEM, name: `capstan-${operator}` });
      return lease?.spec?.holderIdentity ?? '';
    },
    async podsOf(operator) {
      const labelSelector = `app.kubernetes.io/name=capstan-${operator}`;
      return (await client.list(Pod, { namespace: SYSTEM, labelSelector })).items;
    },
    async readyOf(operator) {
      const deployment = await client.get(Deployment, { namespace: SYSTEM, name: `capstan-${operator}` });
      return deployment.status?.readyReplicas ?? 0;
    },
    async close() {
      stopping.abort();
      await running;
      await real.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An image of Capstan, run from a package: the entry point, and the programs on its path. */
export function capstanImage(match: string, bundle: string, options: ImageOptions = {}): KnownImage {
  const { nodeFlags = [], extraArgs } = options;
  const program = (name: string) => [process.execPath, ...nodeFlags, join(bundle, 'bin', `${name}.js`)];
  const names = ['capstan', 'gimbal', 'sesame', 'submariner', 'kroxylicious', 'crossplane'];
  return {
    match,
    entrypoint: program('capstan'),
    programs: Object.fromEntries(names.map((name) => [name, program(name)])),
    // Pods share the interfaces of this machine.
    env: { CAPSTAN_BIND_ADDRESS: '$(POD_IP)' },
    kubeconfig: true,
    ...(extraArgs && { extraArgs }),
  };
}

interface ImageOptions {
  readonly nodeFlags?: readonly string[];
  readonly extraArgs?: readonly string[];
}

/** The process of a holder of a Lease. */
export function pidOf(holder: string): number {
  const pid = Number(holder.split('_')[1]);
  assert.ok(pid > 0, `the holder "${holder}" names no process`);
  return pid;
}

const LIMIT_MS = 120_000;

/** Errors of a server that is away count as not yet. */
export async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  let problem = '';
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      problem = String(error);
    }
    assert.ok(Date.now() < end, `still waiting for this: ${what} ${problem}`);
    await sleep(systemClock, 100);
  }
}

export async function run(program: string, args: readonly string[], kubeconfig: string): Promise<Ended> {
  const child = spawn(program, args, { env: { ...process.env, KUBECONFIG: kubeconfig } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}
