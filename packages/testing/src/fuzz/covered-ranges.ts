// Which parts of the code have run, by V8's coverage of blocks. An input that reaches a new part is kept, and changed further.
import { Session } from 'node:inspector';

export interface CoveredRanges {
  /** Whether code ran since the last call of either function that never ran before. */
  hasGrown(): boolean;
  /** The same, and the code counts as new at the next call too. */
  wouldGrow(): boolean;
  close(): void;
}

type Range = [start: number, end: number];

/** Counts the code of this thread that is loaded from files. */
export function createCoveredRanges(): CoveredRanges {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  /** Ranges of each function that never ran. */
  const missing = new Map<string, readonly Range[]>();

  const take = (isCounted: boolean): boolean => {
    let isGrown = false;
    session.post('Profiler.takePreciseCoverage', (_, taken) => {
      for (const { url, functions } of taken?.result ?? []) {
        if (!url.startsWith('file:')) continue;
        for (const { ranges } of functions) {
          const [whole] = ranges;
          if (!whole || whole.count === 0) continue;
          const key = `${url} ${whole.startOffset}`;
          const uncovered = ranges
            .filter(({ count }) => count === 0)
            .map((range): Range => [range.startOffset, range.endOffset]);
          const before = missing.get(key);
          const now = before ? common(before, uncovered) : uncovered;
          if (before && lengthOf(now) === lengthOf(before)) continue;
          if (isCounted) missing.set(key, now);
          isGrown = true;
        }
      }
    });
    return isGrown;
  };
  return {
    hasGrown: () => take(true),
    wouldGrow: () => take(false),
    close: () => session.disconnect(),
  };
}

function common(left: readonly Range[], right: readonly Range[]): Range[] {
  return left.flatMap(([start, end]) =>
    right.map(([from, to]): Range => [Math.max(start, from), Math.min(end, to)]).filter(([from, to]) => from < to),
  );
}

const lengthOf = (ranges: readonly Range[]) => ranges.reduce((sum, [start, end]) => sum + end - start, 0);
