// From an event to the reconcile that it concerns: how long it takes, and that no other one runs. The informer, the engine
// and the sink are the real ones; the cluster is the embedded API server, reached in process.
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { latencyOf, roundsOf } from '../measure/timing.ts';
import { startWakeUpStage } from './wake-up-stage.ts';

const SIZES = {
  full: { objects: 10_000, edits: 1000, warmUp: 300, rounds: 3, readers: 25, writes: 40 },
  tiny: { objects: 200, edits: 10, warmUp: 5, rounds: 1, readers: 2, writes: 2 },
};

export const wakeUp: Part = {
  name: 'wake-up',
  summary: 'from an event to the start of its reconcile',
  async measure(scale) {
    const { objects, readers, warmUp, rounds, ...size } = SIZES[scale];
    const stage = await startWakeUpStage(objects, readers);
    const random = createRandom(7);
    const edits = async (count: number) => {
      const samples = [];
      for (let edit = 0; edit < count; edit++) samples.push(await stage.edit(random.integer(0, objects - 1), edit));
      return samples;
    };
    try {
      await edits(warmUp);
      const measured = await roundsOf(rounds, () => edits(size.edits));
      const latencies = measured.map((samples) => latencyOf(samples.map(({ latency }) => latency)));
      const runs = measured.flatMap((samples) => samples.map((sample) => sample.runs));
      const what = `wake-up: event to start of reconcile, ${objects} objects`;
      const figures = [
        result({
          name: `${what}, p50`,
          unit: 'ms',
          rounds: latencies.map(({ p50 }) => p50),
          note: `from the batch leaving the transport to the first line of the reconcile, ${size.edits} edits a round`,
        }),
        result({ name: `${what}, p99`, unit: 'ms', rounds: latencies.map(({ p99 }) => p99), below: 2 }),
        exactRuns('an edit of the object (and the status write that follows)', 1, runs),
      ];
      for (const { what: written, expected, write } of stage.sharedWrites) {
        const counts = [];
        for (let index = 0; index < size.writes; index++) counts.push(await stage.count(() => write(index)));
        figures.push(exactRuns(written, expected, counts));
      }
      return figures;
    } finally {
      await stage.stop();
    }
  },
};

/** The figure is the expected number, or the first one that was another. */
function exactRuns(what: string, expected: number, counts: readonly number[]): Result {
  return result({
    name: `wake-up: reconciles run by ${what}`,
    unit: 'runs',
    rounds: [counts.find((count) => count !== expected) ?? expected],
    exactly: expected,
    note: `each of ${counts.length} edits counted`,
  });
}
