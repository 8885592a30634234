// A small stage for tests of reconcilers: a server, a clock and a running program, with the few moves that tests make. The
// program runs under its own account with exactly its generated role: a denied request fails the test. The same test runs on
// the embedded server and, with CAPSTAN_TEST_SERVER=real, on a real one.
import { type Client, silentLogger, systemClock } from '@capstan/kube';
import type { DigestKey, Operator } from '@capstan/reconcile';
import { TestingErrors } from '../errors.ts';
import { type Incarnation, type IncarnationOptions, startIncarnation } from '../incarnation.ts';
import { createRandom, type SeededRandom } from '../random.ts';
import { createRightsAudit } from '../rights/rights-audit.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { grantAccount, watchedAccount } from './account.ts';
import { embeddedStageServer } from './embedded-stage-server.ts';
import { createOwnershipAudit } from './ownership-audit.ts';
import { realStageServer } from './real-stage-server.ts';
import { type RecordingTransport, recordingTransport } from './recording-transport.ts';
import { createSecretsAudit } from './secrets-audit.ts';
import { chosenServer, runtimeBeside, type ServerName } from './stage-server.ts';

export interface Stage {
  readonly server: ServerName;
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  /** The test's own client, an administrator's. */
  readonly client: Client;
  /** The writes of the program since it started, or since `transport.clear()`. */
  readonly transport: RecordingTransport;
  readonly program: Incarnation;
  /** Lets the program come to rest, moving time as far as it asks for, at most `maxMs` (default a minute). */
  settle(maxMs?: number): Promise<void>;
  /** Time passes for the server as well, which has times to the second: for tests that depend on which object is older. */
  pass(ms: number): Promise<void>;
  /** Settles after the server has collected the dependents of deleted objects. A real one takes its time. */
  collected(): Promise<void>;
  /** Stops the program and starts another one on the same cluster, from then on with another digest key where one is given. */
  restart(changes?: { digestKey?: DigestKey; meanwhile?: (client: Client) => Promise<void> }): Promise<void>;
  end(): Promise<void>;
}

export interface StageOptions extends Partial<Pick<IncarnationOptions, 'logger' | 'runtime' | 'digestKey' | 'world'>> {
  operators: readonly Operator[];
  /** Done before the program starts. */
  given?: (client: Client) => Promise<void>;
  /** The ruling under which the program may remove or renew objects that it did not create; none by default. */
  ruled?: string;
}

/** Longer than any collection takes. */
const COLLECT_MS = 90_000;

export async function createStage({ operators, given, ruled, ...options }: StageOptions): Promise<Stage> {
  const random = createRandom(1);
  const open = chosenServer() === 'real' ? realStageServer : embeddedStageServer;
  let isBusy = () => false;
  const server = await open(operators, random, () => isBusy());
  const { client, clock } = server;
  const account = await grantAccount(client, operators, options.world ?? {});
  await given?.(client);
  await server.begin();
  const audit = createOwnershipAudit(ruled);
  const secrets = createSecretsAudit();
  const logger = secrets.logging(options.logger ?? silentLogger);
  const { namespace = 'default', watchNamespaces } = options.world ?? {};
  const rights = createRightsAudit(operators, { namespace, watchNamespaces });
  const start = async () => {
    const { transport: allowed, check: checkDenied } = watchedAccount(await server.transport(account));
    const transport = recordingTransport(rights.over(audit.over(secrets.over(allowed))));
    const check = () => {
      checkDenied();
      audit.check();
      secrets.check();
    };
    const runtime = { ...runtimeBeside(server.name), ...options.runtime };
    const program = startIncarnation({ operators, transport, clock, random, ...options, logger, runtime });
    return { transport, check, program };
  };
  let current = await start();
  // While it is listing it waits only for the server.
  isBusy = () => current.program.runtime.isSynced && !current.program.runtime.isIdle;
  const stop = async () => {
    await current.program.stop();
    current.check();
  };
  const stage: Stage = {
    server: server.name,
    clock,
    random,
    client,
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
      const isResting = () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
      await clock.runUntilIdle(maxMs, () => isResting() && !server.hasLapsedWatch());
      current.check();
    },
    async pass(ms) {
      await clock.advance(ms);
      await server.pass(ms);
    },
    async collected() {
      await stage.settle();
      const end = systemClock.now() + COLLECT_MS;
      while (!(await server.collect())) {
        if (systemClock.now() > end) throw TestingErrors.NotCollected(COLLECT_MS);
        // The program may hold objects that the collector wants to delete, and its time passes only here.
        await stage.settle();
      }
      await stage.settle();
    },
    async restart({ digestKey, meanwhile } = {}) {
      await stop();
      if (digestKey !== undefined) options.digestKey = digestKey;
      await meanwhile?.(client);
      current = await start();
      await stage.settle();
    },
    async end() {
      try {
        await stop();
        rights.record();
      } finally {
        await server.close();
      }
    },
  };
  await stage.settle();
  return stage;
}
