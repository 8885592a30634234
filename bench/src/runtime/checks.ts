// The processor time of checks and records: the purity check, which runs every computation twice, and the digests of all inputs of a plan,
// which are written with its children so that `why` can compare after a restart.
import type { Part } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { roundsOf } from '../measure/timing.ts';
import { createSettledCluster, type Program, startProgram } from './settled-cluster.ts';

const SIZES = { full: { owners: 5000, rounds: 5 }, tiny: { owners: 20, rounds: 1 } };

export const checks: Part = {
  name: 'checks',
  summary: 'the purity check and the digests of inputs, in processor time',
  async measure(scale) {
    const { owners, rounds } = SIZES[scale];
    const cluster = await createSettledCluster(owners);
    try {
      const plain = await measured(startProgram(cluster), rounds, owners);
      const checked = await measured(startProgram(cluster, { checkPurity: true }), rounds, owners);
      return [
        result({
          name: 'checks: a reconcile that changes nothing, with the purity check, processor time',
          unit: 'µs',
          rounds: checked.reconciles,
          peer: { name: 'without the check', rounds: plain.reconciles },
          note: 'plan and comparison with the child and the status; the check is for tests and development',
        }),
        result({
          name: 'checks: digests of the inputs of a plan, processor time',
          unit: 'µs',
          rounds: plain.digests,
          note: 'once for each reconcile that writes; a resource of 2 KB',
        }),
      ];
    } finally {
      await cluster.close();
    }
  },
};

/** Microseconds of each round for one owner. */
async function measured(program: Program, rounds: number, owners: number) {
  await program.rest();
  await program.evaluateAll();
  const reconciles = await roundsOf(rounds, async () => {
    heapAfterGc();
    const before = process.cpuUsage();
    await program.evaluateAll();
    return microseconds(before) / owners;
  });
  const digests = await roundsOf(rounds, async () => {
    heapAfterGc();
    const before = process.cpuUsage();
    if (program.digestInputs() < owners) throw new Error('a plan without inputs');
    return microseconds(before) / owners;
  });
  await program.stop();
  return { reconciles, digests };
}

function microseconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
