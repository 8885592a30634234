// One operator at several sizes of its fleet. The largest size of each part is a tenth of the fleet that docs/scaling.md describes, or all of it.
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';

/** The cost of a fleet of one size. */
export interface Cost {
  /** From nothing evaluated to everything in place. */
  readonly startMs: number;
  /** Live heap, or the resident memory of a process. */
  readonly megabytes: number;
  /** The time of an edit of one object. */
  readonly editMs: number;
  /** The writes that the edit causes; undefined where none are sent. */
  readonly writes?: number;
}

export interface SizedFleet {
  readonly name: string;
  readonly summary: string;
  /** The objects that are counted, in the plural. */
  readonly objects: string;
  readonly memory: 'live heap' | 'resident memory';
  readonly sizes: readonly number[];
  readonly tiny: readonly number[];
  /** The most memory at the largest size, in MB. */
  readonly below: number;
  /** The writes of one edit, at every size. */
  readonly writes?: number;
  lacks?(): string | undefined;
  measure(size: number): Promise<Cost>;
}

/** Declares the part that measures a fleet at its sizes. */
export function sizedFleet(fleet: SizedFleet): Part {
  const { name, summary, objects, memory, sizes, tiny, below, lacks } = fleet;
  return {
    name,
    summary: `${summary}, at ${sizes.join(', ')} ${objects}`,
    ...(lacks && { lacks }),
    async measure(scale) {
      const isFull = scale === 'full';
      const chosen = isFull ? sizes : tiny;
      const results: Result[] = [];
      for (const size of chosen) {
        const cost = await fleet.measure(size);
        const figure = (of: string, unit: string, value: number, target: { below?: number; exactly?: number } = {}) =>
          results.push(
            result({ name: `${size} ${objects}: ${of}`, unit, rounds: [value], growth: { of, size }, ...target }),
          );
        const isLargest = isFull && size === Math.max(...chosen);
        figure('start', 's', cost.startMs / 1000);
        figure(memory, 'MB', cost.megabytes, isLargest ? { below } : {});
        figure(`${memory} of an object`, 'KB', (cost.megabytes * 1000) / size);
        figure('edit', 'ms', cost.editMs);
        if (cost.writes !== undefined && fleet.writes !== undefined)
          figure('writes of an edit', 'writes', cost.writes, { exactly: fleet.writes });
      }
      return results;
    },
  };
}

/** Returns the middle of the times that it takes, in milliseconds. */
export async function medianTime(count: number, work: (index: number) => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const begun = performance.now();
    await work(index);
    times.push(performance.now() - begun);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(count / 2)] ?? Number.NaN;
}
