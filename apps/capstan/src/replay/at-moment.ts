// A machine on which commands answer for a moment of a recording: its cluster is the recording, and its clock stands still.
import { systemClock } from '@capstan/kube';
import { type OpenedRecording, type Operator, type Replay, replayHistory } from '@capstan/reconcile';
import type { Io } from '../cli/io.ts';
import { momentTransport } from './moment-transport.ts';

/** Reports on stderr the moment, and that the content of Secrets is not the real one. */
export function ioAtMoment({ header }: Pick<OpenedRecording, 'header'>, replay: Replay, io: Io): Io {
  io.stderr(`as of wave ${replay.wave}, ${new Date(replay.at).toISOString()}\n`);
  if (header.secrets === 'replaced')
    io.stderr(
      'the content of Secrets is replaced in this recording; answers that depend on it are not the real ones\n',
    );
  const transport = momentTransport(replay);
  return {
    ...io,
    clock: { ...systemClock, now: () => replay.at },
    connect: async () => ({ ...transport, context: 'recording', namespace: 'default' }),
  };
}

/** The end of a recording. */
export function ioAtEnd(recording: OpenedRecording, operators: readonly Operator[], io: Io): Io {
  for (const note of recording.notes) io.stderr(`${note}\n`);
  const { replay } = replayHistory(recording, { operators, compares: false });
  return ioAtMoment(recording, replay, io);
}
