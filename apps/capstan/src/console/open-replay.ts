// The console of a recording: its runtime takes in the waves of the recording, so that the time line has all of them with their times.
import type { ConsoleSource } from '@capstan/console';
import { type Clock, createClient, keyOfObject, kindId, silentLogger } from '@capstan/kube';
import { type OpenedRecording, type Operator, playHistory, withReports } from '@capstan/reconcile';
import { momentTransport } from '../replay/moment-transport.ts';
import { VERSION } from '../version.ts';
import { healthIn } from './console-health.ts';
import type { OpenedSource } from './open-source.ts';
import { operatorReports } from './operator-reports.ts';
import { createPlanner } from './planner.ts';

export interface OpenReplayOptions {
  readonly recording: OpenedRecording;
  /** The name of the recording. */
  readonly name: string;
  readonly operators: readonly Operator[];
  readonly until: { readonly wave?: number; readonly at?: number } | undefined;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface OpenedReplay extends OpenedSource {
  /** Runs the waves up to the end; the page answers meanwhile. */
  play(): Promise<void>;
}

/** The page has its turn after so long. */
const TURN_MS = 10;

export function openReplay({
  recording,
  name,
  until,
  clock,
  timeoutMs,
  signal,
  ...options
}: OpenReplayOptions): OpenedReplay {
  const operators = options.operators.map(withReports);
  const { replay, step } = playHistory(recording, { operators, ...(until && { until }) });
  const { runtime } = replay;
  const client = createClient({ transport: momentTransport(replay), clock, logger: silentLogger });
  const { changesOf } = createPlanner({
    runtime,
    all: operators,
    client,
    clock,
    namespace: 'default',
    timeoutMs,
    notesOf: () => Promise.resolve({ notes: [], unseen: [] }),
  });
  const reports = operatorReports({ runtime, operators, client, others: [], clock, timeoutMs, changesOf });
  const source: ConsoleSource = {
    runtime,
    operators,
    writes: false,
    now: () => replay.at,
    session: { context: name, version: VERSION, isRecording: true },
    reports: () => reports,
    healthOf: healthIn(operators),
    fetch: ({ world, key }, kind) =>
      Promise.resolve(
        replay
          .objects(world)
          .get(kindId(kind))
          ?.find((object) => keyOfObject(object) === key),
      ),
  };
  return {
    source,
    async play() {
      let deadline = clock.now() + TURN_MS;
      while (!signal.aborted && step()) {
        if (clock.now() < deadline) continue;
        await clock.yield();
        deadline = clock.now() + TURN_MS;
      }
    },
    stop: () => client.close(),
  };
}
