import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RESULTS_FOLDER, type SavedResults } from '../saved-results.ts';
import { benchmarkPage } from './page.ts';

const DOCS = join(dirname(dirname(dirname(import.meta.dirname))), 'docs');

/** Writes docs/benchmarks.md and its plots from the saved results. Returns a line for people. */
export function writeReport(docs = DOCS, results = RESULTS_FOLDER): string {
  const saved = savedFiles(results).map((file) => JSON.parse(readFileSync(file, 'utf8')) as SavedResults);
  if (saved.length === 0) throw new Error(`there are no results in ${results}; run npm run bench -- NAME first`);
  const { markdown, plots } = benchmarkPage(saved);
  const folder = join(docs, 'benchmarks');
  rmSync(folder, { recursive: true, force: true });
  if (plots.size > 0) mkdirSync(folder, { recursive: true });
  for (const [name, svg] of plots) writeFileSync(join(folder, name), svg);
  writeFileSync(join(docs, 'benchmarks.md'), markdown);
  return `docs/benchmarks.md is written: ${saved.length} benches, ${plots.size} plots`;
}

function savedFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
