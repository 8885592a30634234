// How many random edits are foretold, made and compared: 100 over all operators in `npm test`, 1,000 in a full run.
import { isFullRun, runs } from '../../runs.ts';

export interface ForetoldRun {
  readonly seed: number;
  readonly edits: number;
  /** The seed of pauses, restarts and edits at once; absent in runs that are kept as they were. */
  readonly variety?: number;
}

/** A cluster sees so many edits; then another one begins, with another seed. */
const MAX_EDITS = 40;

/**
 * The runs of one operator, which has so many of each 100 edits. Runs that found a difference once are kept, and are made again in a
 * full run.
 */
export function foretoldRuns(percent: number, kept: readonly ForetoldRun[] = []): ForetoldRun[] {
  const total = Math.ceil((runs(100, 1000, 'FORETOLD_EDITS') * percent) / 100);
  const first = Number(process.env['FORETOLD_SEED'] ?? 1);
  const count = Math.ceil(total / MAX_EDITS);
  const fresh = Array.from({ length: count }, (_, index) => ({
    seed: first + index,
    variety: first + index,
    edits: Math.min(MAX_EDITS, total - index * MAX_EDITS),
  }));
  return isFullRun ? [...kept, ...fresh] : fresh;
}
