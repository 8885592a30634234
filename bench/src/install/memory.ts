// The memory of the operators of one cluster while they watch 10,000 objects: as an installation runs them, a process each, and as one
// program that runs them all.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startCluster } from '@capstan/apiserver';
import { KafkaProtocolFilter } from '@capstan/kroxylicious';
import { type Client, connect, createClient, sleep, systemClock } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { packProgram, ROOT } from './built.ts';

const OBJECTS = { full: 10_000, tiny: 100 };
const OPERATORS = ['kroxylicious', 'crossplane', 'gimbal', 'submariner', 'sesame'];
const AT_ONCE = 50;
/** By then caches are full, statuses are written, and the garbage of the start is collected. */
const QUIET_MS = { full: 60_000, tiny: 2_000 };

export const memory: Part = {
  name: 'memory',
  summary: 'resident memory of the operators of one cluster at 10,000 watched objects',
  async measure(scale) {
    const { folder } = await packProgram();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'));
    const program = join(folder, 'package/bin/capstan.js');
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0 });
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    const client = createClient({ transport: await connect({ env: { KUBECONFIG: kubeconfig } }) });
    const start = (...flags: string[]) => startOperators(program, kubeconfig, flags);
    try {
      const first = await start('--install-crds');
      await stop(first);
      await fill(client, OBJECTS[scale]);
      const each: ChildProcess[] = [];
      const names = scale === 'full' ? OPERATORS : OPERATORS.slice(0, 1);
      for (const name of names) each.push(await start('--operators', name));
      await sleep(systemClock, QUIET_MS[scale]);
      const apart = each.map(residentMb);
      const shared = Math.max(...each.map((child) => memoryMb(child, 'RssFile')));
      const once = shared + each.reduce((sum, child) => sum + memoryMb(child, 'RssAnon'), 0);
      await Promise.all(each.map(stop));
      const one = await start();
      await sleep(systemClock, QUIET_MS[scale]);
      const together = residentMb(one);
      await stop(one);
      const note = names.map((name, index) => `${name} ${apart[index]?.toFixed(0)}`).join(', ');
      return [
        result({
          name: `one program with all operators at ${OBJECTS[scale]} objects`,
          unit: 'MB',
          rounds: [together],
          below: 250,
        }),
        result({
          name: `a process for each operator at ${OBJECTS[scale]} objects, one replica`,
          unit: 'MB',
          rounds: [apart.reduce((sum, value) => sum + value, 0)],
          below: 250,
          note: `${note}; with the executable, which processes of one node share, counted once: ${once.toFixed(0)} MB`,
        }),
      ];
    } finally {
      await client.close();
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function fill(client: Client, count: number): Promise<void> {
  const { apiVersion, kind } = KafkaProtocolFilter;
  const pending = Array.from({ length: count }, (_, index) => index);
  const work = async () => {
    for (let index = pending.pop(); index !== undefined; index = pending.pop())
      await client.create(KafkaProtocolFilter, {
        apiVersion,
        kind,
        metadata: { namespace: 'default', name: `filter-${index}` },
        spec: { type: 'io.example.Filter', configTemplate: { rule: `rule ${index}`, text: 'x'.repeat(1_000) } },
      });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** As in a pod, where memory is counted; resolves when its caches are full. */
async function startOperators(program: string, kubeconfig: string, flags: readonly string[]): Promise<ChildProcess> {
  const args = [
    program,
    'run',
    '-o',
    'json',
    '--health-address=0',
    '--metrics-address=0',
    '--log-level=error',
    ...flags,
  ];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: '127.0.0.1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('"ready"')) return child;
  throw new Error(`capstan run ${flags.join(' ')} ended before it was ready`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function residentMb(child: ChildProcess): number {
  return memoryMb(child, 'VmRSS');
}

function memoryMb({ pid = 0 }: ChildProcess, field: 'VmRSS' | 'RssAnon' | 'RssFile'): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
