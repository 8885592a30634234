// A history that is played wave by wave, for a page that follows its runtime.
import type { HistoryLine } from './history.ts';
import { createSession, type History, type Replay, type SessionOptions } from './replay-session.ts';

export interface PlayedHistory {
  readonly replay: Replay;
  /** Runs the next wave; false at the end. */
  step(): boolean;
}

export interface Until {
  readonly wave?: number | undefined;
  readonly at?: number | undefined;
}

/** Reports whether a line is a wave after a moment. */
export function isAfter(line: HistoryLine, { wave, at }: Until): boolean {
  if (!('wave' in line) || 'snapshot' in line) return false;
  return (wave !== undefined && line.wave > wave) || (at !== undefined && line.at > at);
}

/** Begins before the first wave of the history, and ends before the first wave after the moment. */
export function playHistory(history: History, options: SessionOptions & { readonly until?: Until }): PlayedHistory {
  const session = createSession(history, options);
  const { until = {} } = options;
  const lines = history.lines[Symbol.iterator]();
  return {
    replay: session,
    step() {
      for (let next = lines.next(); !next.done; next = lines.next()) {
        if (isAfter(next.value, until)) return false;
        if (session.take(next.value) !== undefined) return true;
      }
      return false;
    },
  };
}
