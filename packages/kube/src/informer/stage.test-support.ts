import assert from 'node:assert/strict';
import type { Clock, Random } from '../clock.ts';
import type { LogFields, Logger } from '../logger.ts';
import { createInformer, type Informer, type InformerOptions } from './informer.ts';
import { type Mirror, mirror } from './mirror.test-support.ts';
import { createScriptedServer, type ScriptedServer, Thing } from './scripted-server.test-support.ts';

/** A clock that tests move. */
export interface TestClock extends Clock {
  settle(): Promise<void>;
  readonly pendingTimers: number;
}

export interface Stage<C extends TestClock> {
  clock: C;
  server: ScriptedServer;
  informer: Informer<Thing>;
  mirror: Mirror<Thing>;
  logs: Log[];
  /** Listeners that joined later; they are held to the same. */
  joined: Mirror<Thing>[];
  /** Content and events agree with each other and with the server. */
  assertCurrent(): void;
  stop(): Promise<void>;
}

/** A server, an informer that runs against it, and a listener that follows it; `prepare` sees the server first. */
export async function stage<C extends TestClock>(
  clock: C,
  random: Random,
  prepare: (server: ScriptedServer) => void = () => {},
  options: Partial<InformerOptions<Thing>> = {},
): Promise<Stage<C>> {
  const server = createScriptedServer(clock);
  prepare(server);
  const logs: Log[] = [];
  const joined: Mirror<Thing>[] = [];
  const informer = createInformer<Thing>({
    client: server.client,
    kind: Thing,
    clock,
    random,
    logger: recordingLogger(logs),
    ...options,
  });
  const follower = mirror(informer);
  const abort = new AbortController();
  const done = informer.run(abort.signal);
  await clock.settle();
  return {
    clock,
    server,
    informer,
    mirror: follower,
    logs,
    joined,
    assertCurrent() {
      for (const each of [follower, ...joined]) each.assertEqual();
      const expected = server.content(options.labelSelector);
      const versions = (things: Iterable<Thing>) =>
        [...things].map(({ metadata }) => `${metadata.namespace}/${metadata.name}@${metadata.resourceVersion}`);
      assert.deepEqual(versions(informer.list()), versions(expected.values()));
    },
    async stop() {
      abort.abort();
      await done;
      assert.equal(clock.pendingTimers, 0, 'no timer is left behind');
    },
  };
}

export interface Log {
  level: string;
  message: string;
  fields: LogFields | undefined;
}

function recordingLogger(logs: Log[]): Logger {
  const at = (level: string) => (message: string, fields?: LogFields) => void logs.push({ level, message, fields });
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: () => logger,
  };
  return logger;
}
