// The composition of a running Capstan: one client, one runtime, a lease and a recorder of Events for each operator, the
// servers for probes and metrics. It ends in the opposite order of its beginning.
import { type Clock, type Logger, type Random, sleep } from '@capstan/kube';
import {
  createRegistry,
  createRuntime,
  createTracing,
  ensureDigestKey,
  type Operator,
  observeRuntime,
  type Runtime,
  readsSensitive,
  runtimeObserver,
  standardMetrics,
} from '@capstan/reconcile';
import type { Values } from '../cli/command.ts';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { type CLUSTER_OPTIONS, openCluster } from '../cluster/open-cluster.ts';
import { ensureCrds } from './ensure-crds.ts';
import { createLeaderships } from './leadership.ts';
import type { RunSettings } from './run-options.ts';
import { serve } from './serve.ts';
import { tracedTransport } from './traced-transport.ts';

export interface RunOperatorsOptions {
  operators: readonly Operator[];
  settings: RunSettings;
  flags: Values<typeof CLUSTER_OPTIONS>;
  io: Io;
  clock: Clock;
  logger: Logger;
  /** Tells whoever started us: started, ready, stopped. */
  announce(event: string, fields: object): void;
  /** Given the runtime when it has its world, before it runs. */
  started?(runtime: Runtime): void;
}

/** As long as Kubernetes waits by default before it kills. */
const SHUTDOWN_MS = 30_000;
const POLL_MS = 100;

/** Runs until the io's signal is aborted and everything has ended. Throws when it cannot start. */
export async function runOperators(options: RunOperatorsOptions): Promise<void> {
  const { operators, settings, io, clock, logger, announce } = options;
  const { signal } = io;
  const random: Random = Math.random;
  const registry = createRegistry();
  const metrics = standardMetrics(registry);
  const tracing = createTracing({ environment: io.env, serviceName: 'capstan', clock, random, logger });
  const traced: Io = tracing.isEnabled
    ? { ...io, connect: async (to) => tracedTransport(await io.connect(to), tracing.tracer) }
    : io;
  const { client, namespace, context } = await openCluster(options.flags, traced, { logger, observe: metrics.request });
  try {
    await ensureCrds({ client, clock, operators, install: settings.installCrds, signal });
    const common = { client, clock, random, logger, metrics, identity: io.identity, namespace, operators };
    const led = createLeaderships({ ...common, election: settings.election });
    const runtime = createRuntime({
      operators,
      clock,
      random,
      logger,
      leadership: (operator) => found(led.get(operator)).leadership,
      tell: (_world, operator, owner, event) => found(led.get(operator)).events.record(owner, event),
      observe: runtimeObserver(metrics),
      tracer: tracing.tracer,
    });
    // The runtime has one key for all: that of the first operator which needs one. Another key would roll nothing anyway.
    const sensitive = operators.find(readsSensitive);
    if (sensitive !== undefined) {
      runtime.setDigestKey(await ensureDigestKey(client, { namespace, operator: sensitive.name, signal }));
    }
    const servers = await serve({ settings, registry, runtime, clock, logger });
    try {
      const { watchNamespaces } = settings;
      const world = runtime.addWorld({ name: '', client, namespace, ...(watchNamespaces && { watchNamespaces }) });
      observeRuntime(metrics, runtime);
      options.started?.(runtime);
      for (const operator of operators) operator.metrics?.({ registry, clock, peek: (kind) => world.peek(kind) });
      const names = operators.map(({ name }) => name);
      announce('started', { context, namespace, operators: names, ...servers.addresses });
      const exporting = tracing.run(signal);
      await ended([runtime.run(signal), exporting, ready(runtime, options)], options);
      announce('stopped', {});
    } finally {
      await servers.close();
    }
  } finally {
    await client.close();
  }
}

/** Says when the caches are full; what they wait for is in the log meanwhile. */
async function ready(
  runtime: Runtime,
  { clock, logger, announce, io: { signal } }: RunOperatorsOptions,
): Promise<void> {
  let told = clock.now();
  while (!runtime.isSynced && !signal.aborted) {
    await sleep(clock, POLL_MS, signal).catch(() => {});
    if (clock.now() - told < WAITING_MS) continue;
    told = clock.now();
    logger.warn('still waiting for caches to fill', {
      waitingFor: runtime.status().worlds.flatMap((world) => world.waitingFor),
    });
  }
  if (!signal.aborted) announce('ready', {});
}

const WAITING_MS = 15_000;

/** Waits for all of them, and not forever once they were asked to stop. */
async function ended(parts: readonly Promise<void>[], { clock, io: { signal } }: RunOperatorsOptions): Promise<void> {
  const stopped = new AbortController();
  const late = async () => {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await sleep(clock, SHUTDOWN_MS, stopped.signal);
    throw CliErrors.StoppedLate(SHUTDOWN_MS / 1000);
  };
  const limit = late();
  // Ended by `stopped` when all went well: then nobody waits for it any more.
  limit.catch(() => {});
  try {
    await Promise.race([Promise.all(parts), limit]);
  } finally {
    stopped.abort();
  }
}

function found<V>(value: V | undefined): V {
  if (value === undefined) throw new TypeError('an operator that was not given to the runtime asks for its lease');
  return value;
}
