// A cluster on which a program lives several lives: it dies between any two writes, and the next one finds its remains. As on a stage, the
// environment chooses the server, time is the test's, and each life has exactly the role that is generated for the operators: a denied
// request fails the test.
import type { Client } from '@capstan/kube';
import type { Operator, Runtime } from '@capstan/reconcile';
import type { FaultSchedule } from '../faults/fault-schedule.ts';
import { faultyTransport } from '../faults/faulty-transport.ts';
import { mortalClock } from '../faults/mortal-clock.ts';
import { type IncarnationOptions, startIncarnation } from '../incarnation.ts';
import { createRandom } from '../random.ts';
import { createRightsAudit, type RightsAudit } from '../rights/rights-audit.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { grantAccount, watchedAccount } from './account.ts';
import { embeddedStageServer } from './embedded-stage-server.ts';
import { realStageServer } from './real-stage-server.ts';
import { chosenServer, runtimeBeside } from './stage-server.ts';

export interface Lives {
  readonly clock: VirtualClock;
  /** The test's own client, an administrator's. */
  readonly client: Client;
  /** Starts the program, optionally with other settings or among faults. The life before must be over. */
  begin(operators?: readonly Operator[], schedule?: FaultSchedule): Promise<Life>;
  /** After the last life. */
  close(): Promise<void>;
}

export interface Life {
  readonly runtime: Runtime;
  readonly isDead: boolean;
  /** It dies right after so many more writes (0: now): nothing leaves it or arrives any more, and no timer of it fires. */
  dieAfterWrites(count: number): void;
  /** Lets it come to rest, or die, moving time as far as it asks for, at most `maxMs` (default two minutes). */
  settle(maxMs?: number): Promise<void>;
  /** Stops it in order, unless it is dead. */
  end(): Promise<void>;
}

export interface LivesOptions extends Pick<IncarnationOptions, 'runtime'> {
  operators: readonly Operator[];
  /** Done before anybody lives there. */
  given?: (client: Client) => Promise<void>;
}

/** An empty cluster with the operators' kinds, before any program runs. */
export async function createLives({ operators, given, ...options }: LivesOptions): Promise<Lives> {
  const open = chosenServer() === 'real' ? realStageServer : embeddedStageServer;
  let current: Life | undefined;
  const isBusy = () => current !== undefined && !current.isDead && isWorking(current.runtime);
  const server = await open(operators, createRandom(1), isBusy);
  const { client, clock } = server;
  let account = await grantAccount(client, operators, {});
  let granted = operators;
  const audits: RightsAudit[] = [];
  await given?.(client);
  await server.begin();
  return {
    clock,
    client,
    async begin(of = operators, schedule = {}) {
      if (of !== granted) account = await grantAccount(client, of, {});
      granted = of;
      const random = createRandom(7);
      const mortal = mortalClock(clock);
      const { transport: allowed, check } = watchedAccount(await server.transport(account));
      const rights = createRightsAudit(of, { namespace: 'default' });
      audits.push(rights);
      const transport = faultyTransport(rights.over(allowed), { random, clock: mortal, schedule });
      void transport.died.then(() => mortal.kill());
      const beside = { ...runtimeBeside(server.name), ...options.runtime };
      const { runtime, stop } = startIncarnation({
        operators: of,
        transport,
        clock: mortal,
        random,
        ...options,
        runtime: beside,
      });
      const life: Life = {
        runtime,
        get isDead() {
          return transport.dead;
        },
        dieAfterWrites: (count) => transport.crashAfterWrites(count),
        async settle(maxMs = 120_000) {
          await clock.settle();
          await clock.runUntilIdle(maxMs, () => transport.dead || (isResting(runtime) && !server.hasLapsedWatch()));
          check();
        },
        async end() {
          if (!transport.dead) await stop();
          check();
        },
      };
      current = life;
      return life;
    },
    async close() {
      for (const rights of audits) rights.record();
      await server.close();
    },
  };
}

const isResting = (runtime: Runtime) => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
/** While it is listing it waits only for the server. */
const isWorking = (runtime: Runtime) => runtime.isSynced && !runtime.isIdle;
