// `npm run mutate -- cores`: mutants of the pure cores, as many as the time allows, and the share that tests kill in each core.
import { parseArgs } from 'node:util';
import { cores } from './cores.ts';
import { SURVIVORS } from './survivors.ts';
import { tryMutants } from './try-mutants.ts';

export interface CoresOptions {
  /** A part of the names of the cores; undefined: all. */
  readonly only: string | undefined;
  /** The number of mutants of each core. */
  readonly sample: number;
  readonly seed: number;
  /** The time for the mutants of all cores together. The tests load besides. */
  readonly minutes: number;
}

export const CORES_USAGE = `Usage: npm run mutate -- cores [--only NAME] [--sample N] [--seed N] [--minutes N]
`;
/** The least share of killed mutants in a core, in percent. */
const LEAST_KILLED = 85;

/** Parses the flags; a sentence for those that cannot be understood. */
export function parseCores(args: readonly string[]): CoresOptions | string {
  const text = { type: 'string' } as const;
  let values: { only?: string; sample?: string; seed?: string; minutes?: string };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: { only: text, sample: text, seed: text, minutes: text },
    }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { only, sample = '40', seed = '1', minutes = '60' } = values;
  for (const [flag, value] of Object.entries({ sample, minutes }))
    if (!/^[1-9]\d{0,5}$/.test(value)) return `--${flag} ${value} is not a positive whole number`;
  if (!/^\d{1,9}$/.test(seed)) return `--seed ${seed} is not a whole number`;
  if (only !== undefined && !cores().some(({ name }) => name.includes(only)))
    return `no core has ${only} in its name; there are: ${cores()
      .map(({ name }) => name)
      .join(', ')}`;
  return { only, sample: Number(sample), seed: Number(seed), minutes: Number(minutes) };
}

/** Tries the mutants and prints the result. Returns whether every core kills enough of them, and every survivor has its reason. */
export async function tryCores(options: CoresOptions, print: (line: string) => void): Promise<boolean> {
  const { only = '', sample, seed, minutes } = options;
  const chosen = cores().filter(({ name }) => name.includes(only));
  let isEnough = true;
  for (const core of chosen) {
    // Each core has an equal part of the time.
    const limitMs = (minutes * 60_000) / chosen.length;
    const { total, atLoad, tried, survivors, late } = await tryMutants({ core, sample, seed, limitMs });
    const killed = tried - survivors.length;
    const percent = (100 * killed) / tried;
    if (!(percent >= LEAST_KILLED)) isEnough = false;
    print(
      `${core.name}: ${killed} of ${tried} mutants killed (${percent.toFixed(0)} %; seed ${seed}, ${total} in all, ${atLoad} of them run at load and are not tried${late > 0 ? `, ${late} not tried in time` : ''})`,
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
