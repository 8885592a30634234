// A program that records: a recorder for its runtime, and the folder that its lines go to.
import { randomBytes } from 'node:crypto';
import { type Clock, formatTime, type Logger } from '@capstan/kube/cluster';
import type { Operator } from '../operator.ts';
import { createRing, type RingOptions } from './file/ring.ts';
import { HISTORY_FORMAT, type HistoryHeader } from './history.ts';
import { createRecorder, type Recorder } from './recorder.ts';

export interface RecordingOptions extends Partial<Pick<RingOptions, 'maxBytes' | 'maxAgeMs' | 'fileMs' | 'fileBytes'>> {
  folder: string;
  operators: readonly Operator[];
  /** The version of Capstan. */
  version: string;
  /** Flags of the program, as they were given; those of operators by their names. */
  flags?: readonly string[];
  operatorFlags?: HistoryHeader['operatorFlags'];
  clock: Clock;
  logger: Logger;
  /** Records the content of Secrets, and encrypts everything with it. */
  key?: Uint8Array;
  serveFirst?: boolean;
  whole?: boolean;
  /** Inputs that this program cannot see, in words. */
  unseen?: readonly string[];
}

export interface Recording {
  /** For RuntimeOptions.record. */
  readonly recorder: Recorder;
  /** To be called when the runtime has ended. */
  end(): Promise<void>;
}

export function startRecording(options: RecordingOptions): Recording {
  const { clock, operators, key, folder, logger } = options;
  const { flags = [], operatorFlags = {}, serveFirst = false, whole = false, unseen = [] } = options;
  const header: HistoryHeader = {
    format: HISTORY_FORMAT,
    version: options.version,
    operators: operators.map(({ name }) => name),
    flags,
    operatorFlags,
    started: formatTime(clock.now()),
    secrets: key === undefined ? 'replaced' : 'encrypted',
    serveFirst,
    whole,
    unseen,
  };
  const ring = createRing({
    ...options,
    folder,
    header,
    logger,
    run: randomBytes(4).toString('hex'),
    snapshot: () => recorder.snapshot(),
  });
  const recorder = createRecorder({
    clock,
    line: (line) => ring.line(line),
    // It ends with the process: the replaced strings compare with nothing outside of this recording.
    ...(key === undefined && { redactionKey: randomBytes(32) }),
  });
  return {
    recorder,
    async end() {
      recorder.drain();
      await ring.close();
    },
  };
}
