import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Machine } from './measure/machine.ts';
import type { Result } from './measure/result.ts';
import type { Report } from './table.ts';

/** A figure with the machine and the commit that it was measured on. */
export interface SavedResult extends Result {
  readonly machine: Machine;
}

/** The last measurements of one bench, by the name of the figure. */
export interface SavedResults {
  readonly bench: string;
  readonly results: readonly SavedResult[];
}

/** The folder of the last results, one file a bench. */
export const RESULTS_FOLDER = join(dirname(import.meta.dirname), 'results');

/** Writes the figures of a run to `bench/results/NAME.json`, in place of their last measurements. */
export function saveReport(report: Report): void {
  const file = join(RESULTS_FOLDER, `${report.bench}.json`);
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  writeFileSync(file, `${JSON.stringify(merged(readSaved(file), report), null, 2)}\n`);
}

/**
 * Returns the saved figures with those of a run. Figures that the run did not measure stay. A figure from a busy machine never replaces
 * one from a quiet machine.
 */
export function merged(saved: SavedResults | undefined, { bench, machine, results }: Report): SavedResults {
  const byName = new Map(saved?.results.map((result) => [result.name, result]));
  for (const result of results) {
    const before = byName.get(result.name);
    if (machine.isBusy && before !== undefined && !before.machine.isBusy) continue;
    byName.set(result.name, { ...result, machine });
  }
  return { bench, results: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function readSaved(file: string): SavedResults | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as SavedResults;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${file} cannot be read; delete it, and measure again`, { cause: error });
  }
}
