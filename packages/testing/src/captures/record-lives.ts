// Records the lives of programs in tests in memory, and replays them.
import type { Clock } from '@capstan/kube';
import {
  createRecorder,
  HISTORY_FORMAT,
  type HistoryHeader,
  type HistoryLine,
  type Operator,
  type RecordedHistory,
  type Recorder,
  type ReplayOptions,
  type ReplayReport,
  replayHistory,
} from '@capstan/reconcile';

export interface RecordedLife extends RecordedHistory {
  readonly operators: readonly Operator[];
}

/** Gives each life a recorder of its own. */
export type RecordLife = (life: { clock: Clock; operators: readonly Operator[]; whole?: boolean }) => Recorder;

export interface RecordedLives {
  readonly record: RecordLife;
  /** All lives until now. */
  histories(): readonly RecordedLife[];
  replay(life: RecordedLife, options?: Partial<ReplayOptions>): ReplayReport;
}

function copyOf(line: HistoryLine): HistoryLine {
  return JSON.parse(JSON.stringify(line)) as HistoryLine;
}

const REDACTION_KEY = new Uint8Array(32).fill(7);

/** `replaced`: as a recording is by default; `encrypted`: with the content of Secrets, so that every function is run again. */
export function recordLives(
  secrets: HistoryHeader['secrets'] = 'replaced',
  options: { /** After so many waves the recording of a life restarts with a snapshot. */ snapshotAfter?: number } = {},
): RecordedLives {
  const lives: { recorder: Recorder; life: RecordedLife }[] = [];
  return {
    record({ clock, operators, whole = false }) {
      const lines: HistoryLine[] = [];
      let waves = 0;
      const recorder: Recorder = createRecorder({
        clock,
        // As a file would give them back.
        line(line) {
          lines.push(copyOf(line));
          if (!('wave' in line) || 'snapshot' in line || ++waves !== options.snapshotAfter) return;
          const snapshot = recorder.snapshot();
          lines.length = 0;
          for (const one of snapshot) lines.push(copyOf(one));
        },
        inBackground: false,
        ...(secrets === 'replaced' && { redactionKey: REDACTION_KEY }),
      });
      const header: HistoryHeader = {
        format: HISTORY_FORMAT,
        version: 'test',
        operators: operators.map(({ name }) => name),
        flags: [],
        started: new Date(clock.now()).toISOString(),
        secrets,
        serveFirst: false,
        whole,
        unseen: [],
      };
      lives.push({ recorder, life: { header, lines, operators } });
      return recorder;
    },
    histories() {
      for (const { recorder } of lives) recorder.drain();
      return lives.map(({ life }) => life);
    },
    replay: (life, options = {}) => replayHistory(life, { operators: life.operators, ...options }),
  };
}
