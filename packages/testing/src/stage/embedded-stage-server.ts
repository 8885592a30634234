import type { Operator } from '@capstan/reconcile';
import { createTestCluster } from '../cluster.ts';
import type { SeededRandom } from '../random.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import type { StageServer } from './stage-server.ts';
import { createWorkerRest } from './worker-rest.ts';

/** The API server in this process, on the test's own clock. */
export async function embeddedStageServer(
  operators: readonly Operator[],
  random: SeededRandom,
  isBusy: () => boolean,
): Promise<StageServer> {
  const clock = createVirtualClock({ outside: createWorkerRest(isBusy) });
  const cluster = await createTestCluster({ clock, random, operators, rbac: true });
  return {
    name: 'embedded',
    clock,
    client: cluster.client,
    transport: async (account) => cluster.transport(account),
    // It keeps its watches when a definition changes.
    hasLapsedWatch: () => false,
    // Each stage has one of its own.
    begin: async () => {},
    // It has no clock of its own.
    pass: async () => {},
    // It collects at once.
    collect: async () => true,
    close: () => cluster.close(),
  };
}
