// The cost of a recording, and the time to replay it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenedRecording, openRecording, replayHistory } from '@capstan/reconcile';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { createSettledCluster, frontend } from '../runtime/settled-cluster.ts';
import { CHANGES_A_SECOND, followed, sizeOf } from './recorded-cluster.ts';

const SIZES = { full: { owners: 1000, seconds: 60, rounds: 3 }, tiny: { owners: 20, seconds: 1, rounds: 1 } };
const HOUR = 3600;

export const recordAndReplay: Part = {
  name: 'record',
  summary: 'a recording of 1,000 objects under 50 changes a second, and its replay',
  async measure(scale) {
    const { owners, seconds, rounds } = SIZES[scale];
    const isFull = scale === 'full';
    const cluster = await createSettledCluster(owners);
    const folder = mkdtempSync(join(tmpdir(), 'capstan-bench-'));
    try {
      const costs: number[] = [];
      const sizes: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const into = join(folder, String(round));
        const plain = await followed(cluster, owners, seconds);
        costs.push(((await followed(cluster, owners, seconds, into)) - plain) * 100);
        sizes.push((sizeOf(into) / 2 ** 20) * (60 / seconds));
      }
      const recording = await openRecording(join(folder, '0'));
      const hours = Array.from({ length: rounds }, () => secondsForAnHour(recording, seconds));
      return [
        result({
          name: 'record: processor',
          unit: '%',
          rounds: costs,
          ...(isFull && { atMost: 3 }),
          note: 'of one processor, beside the same changes without a recording',
        }),
        result({
          name: 'record: disk for a minute',
          unit: 'MB',
          rounds: sizes,
          ...(isFull && { atMost: 1 }),
          note: 'with the snapshot at its begin, which an hour has six times',
        }),
        result({
          name: 'replay: an hour',
          unit: 's',
          rounds: hours,
          ...(isFull && { below: 20 }),
          note: `${HOUR * CHANGES_A_SECOND} changes, from the time of ${seconds * CHANGES_A_SECOND}`,
        }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await cluster.close();
    }
  },
};

/** The first waves evaluate the snapshot, once in a replay. The cost of the others grows with the time. */
function secondsForAnHour(recording: OpenedRecording, seconds: number): number {
  const first = recording.lines.find((line) => 'snapshot' in line || 'wave' in line);
  const begin = first !== undefined && 'wave' in first ? first.wave : 0;
  const start = timeOf(recording, begin + 1);
  const whole = timeOf(recording, Number.POSITIVE_INFINITY);
  return start + ((whole - start) * HOUR) / seconds;
}

function timeOf(recording: OpenedRecording, wave: number): number {
  const elapsed = stopwatch();
  const { differing } = replayHistory(recording, { operators: [frontend], until: { wave } });
  if (differing > 0) throw new Error(`${differing} results of the replay differ`);
  return elapsed() / 1000;
}
