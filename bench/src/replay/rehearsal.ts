// A rehearsal on a cluster of 10,000 objects: another version changes every object that the installed one has written.
import { silentLogger, systemClock } from '@capstan/kube';
import { createRuntime, previewStanding } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { roundsOf } from '../measure/timing.ts';
import { type Cluster, clientOf } from '../runtime/cluster.ts';
import { createSettledCluster, frontend } from '../runtime/settled-cluster.ts';
import { until } from '../runtime/until.ts';

const SIZES = { full: { owners: 5000, rounds: 3 }, tiny: { owners: 20, rounds: 1 } };

export const rehearsed: Part = {
  name: 'rehearsal',
  summary: 'the operators of a version that changes nothing, over a cluster of 10,000 objects',
  async measure(scale) {
    const { owners, rounds } = SIZES[scale];
    const isFull = scale === 'full';
    const cluster = await createSettledCluster(owners);
    try {
      const before = process.memoryUsage.rss();
      const seconds = await roundsOf(rounds, () => rehearse(cluster));
      const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
      return [
        result({
          name: `rehearsal: ${owners * 2} objects`,
          unit: 's',
          rounds: seconds,
          ...(isFull && { below: 10 }),
          note: 'caches, evaluation of all owners and preview; the server is in the same process',
        }),
        result({
          name: 'rehearsal: memory',
          unit: 'MB',
          rounds: [grown],
          ...(isFull && { below: 400 }),
          note: 'growth of the resident memory over three rehearsals in one process',
        }),
      ];
    } finally {
      await cluster.close();
    }
  },
};

async function rehearse(cluster: Cluster): Promise<number> {
  const elapsed = stopwatch();
  const runtime = createRuntime({
    operators: [frontend],
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
    leadership: () => ({ holds: false, run: () => Promise.resolve(), onChange: () => () => {} }),
    whole: true,
    facts: 'readOnly',
  });
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: clientOf(cluster.server.transport()) });
  await until(() => runtime.isSynced && runtime.isIdle);
  const { writes } = await previewStanding(runtime, { clock: systemClock, signal: new AbortController().signal });
  if (writes.length > 0) throw new Error(`the same version would write ${writes.length} times`);
  const ms = elapsed();
  await runtime.run(AbortSignal.abort());
  return ms / 1000;
}
