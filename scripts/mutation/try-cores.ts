// `npm run mutate -- cores`: mutants of the pure cores, as many as the time allows, and the share that tests kill in each core.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { cores } from './cores.ts';
import { mutantsOf } from './mutants.ts';
import { sampleOf } from './random-faults.ts';
import { SURVIVORS } from './survivors.ts';
import { type Trial, tryMutants } from './try-mutants.ts';

export interface CoresOptions {
  /** A part of the names of the cores; undefined: all. */
  readonly only: string | undefined;
  /** The number of mutants of each core. */
  readonly sample: number;
  readonly seed: number;
  /** The time for all cores together. */
  readonly minutes: number;
  readonly jobs: number;
}

export const CORES_USAGE = `Usage: npm run mutate -- cores [--only NAME] [--sample N] [--seed N] [--minutes N] [--jobs N]
`;
/** The least share of killed mutants in a core, in percent. */
const LEAST_KILLED = 85;

/** Parses the flags; a sentence for those that cannot be understood. */
export function parseCores(args: readonly string[]): CoresOptions | string {
  const text = { type: 'string' } as const;
  let values: { only?: string; sample?: string; seed?: string; minutes?: string; jobs?: string };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: { only: text, sample: text, seed: text, minutes: text, jobs: text },
    }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { only, sample = '40', seed = '1', minutes = '60', jobs = String(availableParallelism()) } = values;
  for (const [flag, value] of Object.entries({ sample, minutes, jobs }))
    if (!/^[1-9]\d{0,5}$/.test(value)) return `--${flag} ${value} is not a positive whole number`;
  if (!/^\d{1,9}$/.test(seed)) return `--seed ${seed} is not a whole number`;
  if (only !== undefined && !cores().some(({ name }) => name.includes(only)))
    return `no core has ${only} in its name; there are: ${cores()
      .map(({ name }) => name)
      .join(', ')}`;
  return { only, sample: Number(sample), seed: Number(seed), minutes: Number(minutes), jobs: Number(jobs) };
}

/** Tries the mutants and prints the result. Returns whether every core kills enough of them, and every survivor has its reason. */
export async function tryCores(options: CoresOptions, print: (line: string) => void): Promise<boolean> {
  const { only = '', sample, seed, minutes, jobs } = options;
  const chosen = cores().filter(({ name }) => name.includes(only));
  let isEnough = true;
  const begun = performance.now();
  for (const [index, core] of chosen.entries()) {
    const all = mutantsOf(core.files);
    const mutants = sampleOf(all, sample, seed);
    const trials: Trial[] = [];
    // Each core has an equal part of the time.
    const deadline = begun + (minutes * 60_000 * (index + 1)) / chosen.length;
    await tryMutants({ core, mutants, jobs, deadline, report: (trial) => trials.push(trial) });
    const survivors = trials.filter(({ isKilled }) => !isKilled).map(({ mutant }) => mutant);
    const killed = trials.length - survivors.length;
    const percent = (100 * killed) / trials.length;
    const late = trials.length < mutants.length ? `, ${mutants.length - trials.length} not tried in time` : '';
    if (!(percent >= LEAST_KILLED)) isEnough = false;
    print(
      `${core.name}: ${killed} of ${trials.length} mutants killed (${percent.toFixed(0)} %; ${all.length} in all, seed ${seed}${late})`,
    );
    for (const { file, line, id } of survivors) {
      const reason = SURVIVORS.find((known) => known.file === file && known.id === id)?.reason;
      print(
        `  survived: ${file}:${line}\n    ${id}\n    ${reason ?? 'NO REASON: add a test, or the reason to scripts/mutation/survivors.ts'}`,
      );
    }
  }
  return isEnough;
}
