// A discoverer as it runs in a pod: a process of its own, with an empty folder for Node's cache, against servers over TLS. The system
// counts its memory. The largest value of any round and phase counts against the target: while everything is discovered for the first time,
// while endpoints change, and at a start where all is as it should be.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '@capstan/apiserver';
import { type Client, createClient, EndpointSlice, sleep, systemClock } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { addNamespace, addService, endpointOf, NAMESPACE, sliceOf } from './remotes.ts';

const SIZES = {
  full: { services: 1000, rounds: 3, changes: 1000, settleMs: 15_000 },
  tiny: { services: 10, rounds: 1, changes: 10, settleMs: 100 },
};
const ENDPOINTS = 5;
const MAIN = join(import.meta.dirname, '../../../apps/capstan/src/programs/gimbal.mjs');

export const memory: Part = {
  name: 'memory',
  summary: 'the memory of a discoverer with many services',
  async measure(scale) {
    const { services, rounds, changes, settleMs } = SIZES[scale];
    const locals = Array.from({ length: rounds }, (_, round) => `local-${round}`);
    const clusters = [...locals, 'remote'];
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters });
    const folder = mkdtempSync(join(tmpdir(), 'gimbal-bench-'));
    try {
      const clients = cluster.clusters.map(({ server }) => createClient({ transport: server.transport() }));
      for (const client of clients) await addNamespace(client);
      const remote = clients.at(-1);
      if (remote === undefined) throw new Error('a remote cluster was asked for');
      for (let index = 0; index < services; index++) await addService(remote, 0, index, ENDPOINTS);
      const kubeconfig = (context: string) =>
        cluster.kubeconfig.replace(/^current-context: .*$/m, `current-context: ${context}`);
      mkdirSync(join(folder, 'secret'));
      writeFileSync(join(folder, 'secret/config'), kubeconfig('remote'), { mode: 0o600 });

      const first: Memory[] = [];
      const again: Memory[] = [];
      for (const local of locals) {
        // As in a new pod, nothing is compiled yet.
        const run = { folder, tmp: mkdtempSync(join(folder, 'tmp-')), local: join(folder, local) };
        writeFileSync(run.local, kubeconfig(local), { mode: 0o600 });
        first.push(await measureRun(run, () => changeEndpoints(remote, services, changes)));
        again.push(await measureRun(run, () => sleep(systemClock, settleMs)));
      }
      const most = Math.max(...[...first, ...again].map(({ peak }) => peak));
      const what = `${services} services of ${ENDPOINTS} endpoints`;
      const figure = (name: string, values: readonly Memory[], field: keyof Memory, note: string) =>
        result({ name, unit: 'MB', rounds: values.map((each) => each[field]), note });
      return [
        result({
          name: `memory of a discoverer with ${what}, the most that it ever took`,
          unit: 'MB',
          rounds: [most],
          ...(scale === 'full' && { below: 120 }),
          note: `VmHWM, the highest of ${rounds} rounds of both phases below; about 50 MB of it are pages of the Node executable, which all processes on a machine share`,
        }),
        figure(
          'its peak in the first synchronisation and while endpoints change',
          first,
          'peak',
          `VmHWM; ${changes} changes`,
        ),
        figure('its peak when it restarts and all is as it should be', again, 'peak', 'VmHWM'),
        figure('its memory when it has come to rest', again, 'whole', `VmRSS, ${settleMs / 1000} s after it was ready`),
        figure('the same, without what it shares', again, 'own', 'RssAnon'),
      ];
    } finally {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** In MB. */
interface Memory {
  readonly own: number;
  readonly whole: number;
  readonly peak: number;
}

interface Run {
  readonly folder: string;
  /** Where the process may write. */
  readonly tmp: string;
  /** Kubeconfig of the cluster that it discovers into. */
  readonly local: string;
}

/** Starts the program, waits until it is ready, goes on for as long as `then` takes, and looks. */
async function measureRun({ folder, tmp, local }: Run, then: () => Promise<void>): Promise<Memory> {
  const flags = [
    '--backend-name=east',
    `--gimbal-kubecfg-file=${local}`,
    `--credentials-dir=${join(folder, 'secret')}`,
    '--bind-address=127.0.0.1',
    '--prometheus-listen-address=0',
  ];
  const { NODE_COMPILE_CACHE: _cache, NODE_OPTIONS: _options, ...env } = process.env;
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, 'discover', 'kubernetes', ...flags],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...env, TMPDIR: tmp } },
  );
  let detail = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    detail += text;
  });
  try {
    for (let tries = 0; !detail.includes('the first synchronisation is complete'); tries++) {
      if (child.exitCode !== null || tries > 1200) throw new Error(`the discoverer did not become ready: ${detail}`);
      await sleep(systemClock, 50);
    }
    await then();
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
    return { own: figure('RssAnon'), whole: figure('VmRSS'), peak: figure('VmHWM') };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'close');
  }
}

/** One endpoint of one service after the other goes and comes back, two hundred a second, so that all is as before at the end. */
async function changeEndpoints(remote: Client, services: number, changes: number): Promise<void> {
  for (let change = 0; change < changes; change++) {
    const index = (change >> 1) % services;
    const endpoints = Array.from({ length: ENDPOINTS }, (_, pod) =>
      endpointOf(0, index, pod, pod > 0 || change % 2 === 1),
    );
    await remote.patch(EndpointSlice, { namespace: NAMESPACE, name: sliceOf(index) }, 'merge', { endpoints });
    await sleep(systemClock, 5);
  }
}
