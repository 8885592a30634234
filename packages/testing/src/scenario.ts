// A small stage for tests of reconcilers: a cluster, a clock and a running program, with the few moves that tests make.
import type { Client } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { createTestCluster, type TestCluster } from './cluster.ts';
import { type Incarnation, type IncarnationOptions, startIncarnation } from './incarnation.ts';
import { createRandom, type SeededRandom } from './random.ts';
import { type RecordingTransport, recordingTransport } from './recording-transport.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export interface Stage {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly cluster: TestCluster;
  /** The test's own client. */
  readonly client: Client;
  /** What the program has written since it started, or since `transport.clear()`. */
  readonly transport: RecordingTransport;
  readonly program: Incarnation;
  /** Lets the program come to rest, moving time as far as it asks for, at most `maxMs` (default a minute). */
  settle(maxMs?: number): Promise<void>;
  /** Stops the program and starts another one on the same cluster. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

export interface StageOptions extends Partial<Pick<IncarnationOptions, 'logger' | 'runtime' | 'world'>> {
  operators: readonly Operator[];
  /** Done before the program starts. */
  given?: (client: Client) => Promise<void>;
}

export async function createStage({ operators, given, ...options }: StageOptions): Promise<Stage> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock, random, operators });
  await given?.(cluster.client);
  const start = () => {
    const transport = recordingTransport(cluster.transport());
    return { transport, program: startIncarnation({ operators, transport, clock, random, ...options }) };
  };
  let current = start();
  const stage: Stage = {
    clock,
    random,
    cluster,
    client: cluster.client,
    get transport() {
      return current.transport;
    },
    get program() {
      return current.program;
    },
    async settle(maxMs = 60_000) {
      // Events of the test's own writes reach the program only once everything is at rest.
      await clock.settle();
      const { runtime } = current.program;
      await clock.runUntilIdle(maxMs, () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0);
    },
    async restart() {
      await current.program.stop();
      current = start();
      await stage.settle();
    },
    async end() {
      await current.program.stop();
      await cluster.close();
    },
  };
  await stage.settle();
  return stage;
}
