// A discoverer as it runs in a pod: a process of its own, against servers over TLS. Its memory is what the system counts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '@capstan/apiserver';
import { createClient, sleep, systemClock } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { addNamespace, addService } from './remotes.ts';

const SIZES = { full: { services: 1000, settleMs: 15_000 }, tiny: { services: 10, settleMs: 100 } };
const MAIN = join(import.meta.dirname, '../../../operators/gimbal/src/discover/main.mjs');

export const memory: Part = {
  name: 'memory',
  summary: 'the memory of a discoverer with many services',
  async measure(scale) {
    const { services, settleMs } = SIZES[scale];
    const cluster = await startCluster({
      clock: systemClock,
      random: Math.random,
      port: 0,
      clusters: ['local', 'remote'],
    });
    const folder = mkdtempSync(join(tmpdir(), 'gimbal-bench-'));
    try {
      const [local, remote] = cluster.clusters.map(({ server }) => createClient({ transport: server.transport() }));
      if (local === undefined || remote === undefined) throw new Error('two clusters were asked for');
      for (const client of [local, remote]) await addNamespace(client);
      for (let index = 0; index < services; index++) await addService(remote, 0, index, 5);
      mkdirSync(join(folder, 'secret'));
      writeFileSync(join(folder, 'local'), cluster.kubeconfig, { mode: 0o600 });
      const kubeconfig = cluster.kubeconfig.replace(/^current-context: .*$/m, 'current-context: remote');
      writeFileSync(join(folder, 'secret/config'), kubeconfig, { mode: 0o600 });
      // The first start compiles; pods start with what the image brings compiled.
      await run(folder, 0);
      const { own, whole, peak } = await run(folder, settleMs);
      return [
        result({
          name: `memory of a discoverer with ${services} services of 5 endpoints`,
          unit: 'MB',
          rounds: [whole],
          ...(scale === 'full' && { below: 120 }),
          note: 'VmRSS, a quarter of a minute after it became ready; about 60 MB of it are pages of the Node executable, which all processes on a machine share',
        }),
        result({ name: 'the same, without what it shares', unit: 'MB', rounds: [own], note: 'RssAnon' }),
        result({ name: 'the most that it ever took, with what it shares', unit: 'MB', rounds: [peak], note: 'VmHWM' }),
      ];
    } finally {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Starts the program, waits until it is ready and has been so for a while, and looks. */
async function run(folder: string, settleMs: number): Promise<{ own: number; whole: number; peak: number }> {
  const flags = [
    '--backend-name=east',
    `--gimbal-kubecfg-file=${join(folder, 'local')}`,
    `--credentials-dir=${join(folder, 'secret')}`,
    '--bind-address=127.0.0.1',
    '--prometheus-listen-address=0',
  ];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, 'kubernetes', ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  try {
    for (let tries = 0; !said.includes('the first synchronisation is complete'); tries++) {
      if (child.exitCode !== null || tries > 1200) throw new Error(`the discoverer did not become ready: ${said}`);
      await sleep(systemClock, 50);
    }
    await sleep(systemClock, settleMs);
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
    return { own: figure('RssAnon'), whole: figure('VmRSS'), peak: figure('VmHWM') };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'close');
  }
}
