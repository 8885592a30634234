// One incarnation of the program under test: a runtime with its own client, transport and clock, that can be stopped in
// order or crash between any two writes.

import { type Clock, createClient, type Logger, type Random, silentLogger, type Transport } from '@capstan/kube';
import { createRuntime, type DigestKey, type Operator, type Runtime, type RuntimeOptions } from '@capstan/reconcile';
import { recorderOfAll } from './captures/replay-all.ts';

export interface IncarnationOptions {
  operators: readonly Operator[];
  transport: Transport;
  clock: Clock;
  random: Random;
  logger?: Logger;
  runtime?: Partial<RuntimeOptions>;
  /** Another one than before is a key that was lost. */
  digestKey?: DigestKey;
  world?: { name?: string; watchNamespaces?: readonly string[]; namespace?: string };
}

export interface Incarnation {
  readonly runtime: Runtime;
  /** Stops in order; resolves when everything has ended. */
  stop(): Promise<void>;
}

export function startIncarnation(options: IncarnationOptions): Incarnation {
  const { clock, random, operators, logger = silentLogger } = options;
  const client = createClient({ transport: options.transport, clock, random, logger });
  const record = recorderOfAll()?.({ clock, operators, whole: options.runtime?.whole ?? false });
  const runtime = createRuntime({
    operators,
    clock,
    random,
    logger,
    checkPurity: true,
    ...(record && { record }),
    ...options.runtime,
  });
  runtime.setDigestKey(options.digestKey ?? { id: 'test', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client, ...options.world });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  return {
    runtime,
    async stop() {
      stopping.abort();
      await running;
      await client.close();
    },
  };
}
