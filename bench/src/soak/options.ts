import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** The folder of the plot, the samples and the logs. */
  readonly out: string;
}

/** A week. A longer run needs more samples than a plot can show. */
const MOST_MINUTES = 10_080;

export const SOAK_USAGE = `Usage: npm run soak -- --minutes N [--seed N] [--out FOLDER]
  --minutes   how long it runs after the warm-up, from 1 to ${MOST_MINUTES}
  --seed      the order of edits and faults; default 1
  --out       the folder of the plot, the samples and the logs; default artifacts/soak
`;

/** Parses the flags; a sentence for those that cannot be understood. */
export function parseSoak(args: readonly string[]): SoakOptions | string {
  let values: { minutes?: string; seed?: string; out?: string };
  try {
    const text = { type: 'string' } as const;
    ({ values } = parseArgs({ args: [...args], options: { minutes: text, seed: text, out: text } }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { minutes, seed = '1', out = 'artifacts/soak' } = values;
  if (minutes === undefined) return '--minutes is missing; write --minutes 60';
  if (!/^\d{1,6}(?:\.\d+)?$/.test(minutes) || Number(minutes) < 1 || Number(minutes) > MOST_MINUTES)
    return `--minutes ${minutes} is not a number from 1 to ${MOST_MINUTES}`;
  if (!/^\d{1,9}$/.test(seed)) return `--seed ${seed} is not a whole number`;
  if (out === '') return '--out is empty; name a folder';
  return { minutes: Number(minutes), seed: Number(seed), out };
}
