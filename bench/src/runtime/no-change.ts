// Reconciles that change nothing: the plan is created, compared with the children and the status that are there, and nothing
// is left to write. Owners and children have been settled by the same operator on the embedded API server.
import type { Part } from '../bench.ts';
import { heapAfterGc, restingHeap } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';
import { createSettledCluster, startProgram } from './settled-cluster.ts';

const SIZES = {
  full: { owners: 20_000, rounds: 5, restarts: 3 },
  tiny: { owners: 20, rounds: 1, restarts: 1 },
};

export const noChange: Part = {
  name: 'no-change',
  summary: 'reconciles that change nothing',
  async measure(scale) {
    const { owners, rounds, restarts } = SIZES[scale];
    const cluster = await createSettledCluster(owners);
    try {
      // The first restart warms up the code that only restarts run.
      const cold = (await roundsOf(restarts + 1, () => restart(cluster, owners))).slice(1);
      const warm = await invalidations(cluster, owners, rounds);
      const perSecond = (ms: number) => owners / (ms / 1000);
      return [
        result({
          name: `no change: ${owners} reconciles of a running program`,
          unit: 'per second',
          rounds: warm.map(({ ms }) => perSecond(ms)),
          ...(scale === 'full' ? { atLeast: 20_000 } : {}),
          note: 'plan and comparison with the child and the status both run again for every owner',
        }),
        result({
          name: 'no change: their API calls',
          unit: 'calls',
          rounds: warm.map(({ calls }) => calls),
          exactly: 0,
        }),
        result({
          name: `no change: ${owners} reconciles after a restart`,
          unit: 'per second',
          rounds: cold.map(({ ms }) => perSecond(ms)),
          note: 'from the start of the program to rest: lists of owners and children included, everything evaluated for the first time',
        }),
        result({
          name: 'no change: writes after a restart',
          unit: 'writes',
          rounds: cold.map(({ writes }) => writes),
          exactly: 0,
        }),
      ];
    } finally {
      await cluster.close();
    }
  },
};

type SettledCluster = Awaited<ReturnType<typeof createSettledCluster>>;

async function restart(cluster: SettledCluster, owners: number): Promise<{ ms: number; writes: number }> {
  await restingHeap();
  const program = startProgram(cluster);
  const ms = await millisecondsOf(() => program.rest());
  if (program.evaluated !== owners) throw new Error(`${program.evaluated} of ${owners} owners were evaluated`);
  const writes = program.transport.writes.length;
  await program.stop();
  return { ms, writes };
}

async function invalidations(cluster: SettledCluster, owners: number, count: number) {
  const program = startProgram(cluster);
  await program.rest();
  const again = async () => {
    heapAfterGc();
    program.transport.clear();
    const before = program.runs;
    const ms = await millisecondsOf(() => program.evaluateAll());
    const runs = program.runs - before;
    // Each owner has two computations: the plan and the comparison.
    if (runs !== owners * 2) throw new Error(`${runs} computations ran for ${owners} owners`);
    return { ms, calls: program.transport.requests.length };
  };
  await again();
  const measured = await roundsOf(count, again);
  await program.stop();
  return measured;
}
