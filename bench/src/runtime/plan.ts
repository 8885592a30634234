// Asks for the consequences of a change on a cluster of 10,000 objects: by the command, which fills its own caches, and of a program that runs
// already.
import { runCommandLine } from '@capstan/cli';
import { systemClock, type Transport } from '@capstan/kube';
import { preview } from '@capstan/reconcile';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';
import { runOperator } from '../running-operator.ts';
import type { Cluster } from './cluster.ts';
import { createSettledCluster, frontend } from './settled-cluster.ts';
import { WebProxy, webProxy } from './web-proxy.ts';

const SIZES = {
  // Each has a Deployment.
  full: { owners: 5000, rounds: 3 },
  tiny: { owners: 20, rounds: 1 },
};

export const planned: Part = {
  name: 'plan',
  summary: 'a plan on a cluster of 10,000 objects',
  async measure(scale) {
    const { owners, rounds } = SIZES[scale];
    const cluster = await createSettledCluster(owners);
    try {
      const alone = await roundsOf(rounds, () => millisecondsOf(() => command(() => cluster.server.transport())));
      const running = await previews(cluster, rounds);
      const targets = (seconds: number) => (scale === 'full' ? { below: seconds } : {});
      return [
        result({
          name: `plan: the command alone, ${owners * 2} objects`,
          unit: 's',
          rounds: alone.map((ms) => ms / 1000),
          ...targets(8),
          note: 'connection, dry run, caches, evaluation of all owners, preview and text; the server is in the same process',
        }),
        result({
          name: `plan: the preview of a running program, ${owners * 2} objects`,
          unit: 's',
          rounds: running.map((ms) => ms / 1000),
          ...targets(3),
        }),
      ];
    } finally {
      await cluster.close();
    }
  },
};

const changed = () => {
  const proxy = webProxy(0);
  return { ...proxy, spec: { ...proxy.spec, host: 'changed.example' } };
};

async function command(transport: () => Transport): Promise<void> {
  let [out, err] = ['', ''];
  const code = await runCommandLine(['plan', '-f', 'change.json', '--operator', 'bench.ts', '--timeout', '120s'], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    env: {},
    cwd: '/',
    files: {
      read: () => Promise.resolve(JSON.stringify(changed())),
      list: () => Promise.resolve(undefined),
      stdin: () => Promise.resolve(''),
    },
    signal: new AbortController().signal,
    connect: () => Promise.resolve({ ...transport(), context: 'bench', namespace: 'default' }),
    importModule: () => Promise.resolve({ default: frontend }),
    identity: 'bench',
  });
  if (code !== 0 || !out.includes('rolls pods')) throw new Error(`the plan is not what it should be: ${err}${out}`);
}

async function previews(cluster: Cluster, count: number): Promise<number[]> {
  const program = runOperator(frontend, cluster.server.transport());
  await program.rest();
  const once = async () => {
    const object = await cluster.client.apply(WebProxy, changed(), {
      fieldManager: 'bench',
      force: true,
      dryRun: true,
    });
    const { writes } = await preview(program.runtime, [{ kind: WebProxy, object }], {
      clock: systemClock,
      signal: new AbortController().signal,
    });
    if (!writes.some(({ disturbs }) => disturbs === 'rolls pods')) throw new Error('the preview shows no rollout');
  };
  try {
    return await roundsOf(count, () => millisecondsOf(once));
  } finally {
    await program.stop();
  }
}
