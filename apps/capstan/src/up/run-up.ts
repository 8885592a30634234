// A whole cluster in one process: the API server and its data folder, the workload controllers and a node for each logical
// cluster, and the operators, each under its own service account with the permissions that it declares and no others. It
// ends in the opposite order of its beginning.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Cluster,
  type ClusterOptions,
  type LogicalCluster,
  startCluster,
  writeKubeconfig,
} from '@capstan/apiserver';
import {
  type Client,
  type Clock,
  createClient,
  type Logger,
  type Random,
  silentLogger,
  sleep,
  untilAborted,
} from '@capstan/kube';
import { createAddressPool, createControllers, createForwarder, createNode, type LocalNode } from '@capstan/node';
import {
  compactHeap,
  createManager,
  ensureCrds,
  ensureNamespace,
  type Operator,
  type Runtime,
  SYSTEM_NAMESPACE,
} from '@capstan/reconcile';
import type { LocalCables } from '@capstan/submariner/local';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { applyDemo, type Demo, type DemoCluster } from './demo.ts';
import { openDemoRecord } from './demo-record.ts';
import { type FirstRequest, firstRequest } from './first-request.ts';
import { knownImages } from './known-images.ts';
import { mergeKubeconfig } from './merge-kubeconfig.ts';
import { connectOperator, connectReader, grantOperator, grantReader } from './operator-account.ts';
import type { Progress } from './progress.ts';
import type { DemoObjects, ReadyFields } from './ready-text.ts';
import { MERGED } from './running-cluster.ts';
import { startUpConsole, type UpConsole } from './up-console.ts';
import type { UpSettings } from './up-options.ts';

export interface RunUpOptions {
  settings: UpSettings;
  operators: readonly Operator[];
  /** The demonstrations; empty without --demo. */
  demos: readonly Demo[];
  io: Io;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Reports the events started, ready and stopped. */
  announce(event: string, fields: object): void;
  progress: Progress;
}

/** Runs until the io's signal is aborted and everything has ended. Throws when it cannot start, or when a part gives up. */
export async function runUp(options: RunUpOptions): Promise<void> {
  const { settings, clock, random, logger, announce } = options;
  const { data, host, port } = settings;
  const clusters = [...new Set([...settings.clusters, ...options.demos.flatMap((demo) => demo.clusters)])];
  // The nodes come after the servers, which ask them for logs and connections.
  const nodes = new Map<string, LocalNode>();
  const nodeOf = (name: string): LocalNode => {
    const node = nodes.get(name);
    if (!node) throw CliErrors.NoNodeYet(name);
    return node;
  };
  const pods: Pick<ClusterOptions, 'readLogs' | 'podStreams'> = {
    readLogs:
      (name) =>
      async (...asked) =>
        nodeOf(name).logs(...asked),
    podStreams: (name) => ({
      exec: async (...asked) => nodeOf(name).streams.exec(...asked),
      attach: async (...asked) => nodeOf(name).streams.attach(...asked),
      portForward: async (...asked) => nodeOf(name).streams.portForward(...asked),
    }),
  };
  const cluster = await options.progress.phase(
    `Starting the API server on ${host}:${port}`,
    startCluster({ clock, random, logger, data, host, port, clusters, ...pods }),
  );
  let cables: LocalCables | undefined;
  try {
    cables = settings.cables === 'real' ? await realCables(clusters, options) : undefined;
    await writeKubeconfig(settings.kubeconfig, cluster.kubeconfig);
    const merged = await mergedKubeconfig(settings, cluster.kubeconfig);
    const addresses = cluster.clusters.map(({ name, url }) => ({ name, url }));
    announce('started', { clusters: addresses, data, operators: options.operators.map(({ name }) => name) });
    await runParts(cluster, nodes, { ...options, cables }, (demo, request, console) => {
      const shown = { ...console, demo, ...(request && { request }) };
      const ready: ReadyFields = { kubeconfig: settings.kubeconfig, clusters: addresses, ...merged, ...shown };
      announce('ready', ready);
    });
  } finally {
    cables?.close();
    await options.progress.phase('Stopping the API server', cluster.close());
  }
  announce('stopped', {});
}

/** The contexts in the user's own kubeconfig too, where that is asked for. */
async function mergedKubeconfig(
  { mergeInto: file, data }: UpSettings,
  own: string,
): Promise<Pick<ReadyFields, 'merged'>> {
  if (file === undefined) return {};
  const contexts = await mergeKubeconfig({ file, own, data });
  await writeFile(join(data, MERGED), `${file}\n`);
  return { merged: { file, contexts } };
}

/** Loaded when it is asked for: most clusters have no gateways. */
async function realCables(
  clusters: readonly string[],
  { settings, io, logger }: Pick<RunUpOptions, 'settings' | 'io' | 'logger'>,
): Promise<LocalCables> {
  const { createLocalCables, missingPrograms } = await import('@capstan/submariner/local');
  const missing = missingPrograms(io.env);
  if (missing !== undefined) logger.warn(missing);
  return createLocalCables(settings.data, clusters);
}

/** An operator may need a pod before it is ready: a webhook that converts its objects. */
const PODS_WAIT_MS = 3_000;

interface RunPartsOptions extends RunUpOptions {
  /** Undefined where cables are simulated. */
  cables: LocalCables | undefined;
}

/** Everything that runs besides the API server, until the signal; a part that fails ends them all. */
async function runParts(
  cluster: Cluster,
  nodes: Map<string, LocalNode>,
  options: RunPartsOptions,
  announceReady: (
    demo: readonly DemoObjects[],
    request: FirstRequest | undefined,
    console: Pick<ReadyFields, 'console' | 'consoleCodeFile'>,
  ) => void,
): Promise<void> {
  const { operators, demos, io, clock, progress } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([io.signal, stopping.signal]);
  const clients = cluster.clusters.map(({ server }) =>
    // Warnings of the server to the cluster's own controllers (which keep Endpoints, too) concern no user.
    createClient({ transport: server.transport({ userAgent: 'capstan' }), clock, logger: silentLogger }),
  );
  const [admin] = clients;
  const [first] = cluster.clusters;
  if (!admin || !first) throw new TypeError('a cluster without a logical cluster was started');
  const { promise: operatorsReady, resolve: startPods } = Promise.withResolvers<void>();
  // Programs of pods that were there before load at once, and would take the processor away from the start that people wait for.
  const startingPods = Promise.race([operatorsReady, sleep(clock, PODS_WAIT_MS, signal).catch(() => undefined)]);
  const parts = workloads(cluster, nodes, clients, { ...options, startingPods }, signal);
  let console: UpConsole | undefined;
  try {
    for (const client of clients) await ensureNamespace(client, SYSTEM_NAMESPACE, signal);
    await progress.phase(
      `Installing the definitions of ${operators.map(({ name }) => name).join(', ')}`,
      ensureCrds({ client: admin, clock, operators, install: true, signal }),
    );
    // The operators run in the first cluster; those that reach others do so from there.
    const running =
      operators.length === 0 ? [] : [runOperators({ ...options, operators, admin, cluster: first, signal })];
    // Some are about the cluster that they run in, and several of them make a set: those run in every cluster.
    const everywhere = operators.filter(({ name }) => IN_EVERY_CLUSTER.has(name));
    for (const [index, other] of cluster.clusters.entries()) {
      const client = clients[index];
      if (index === 0 || client === undefined || everywhere.length === 0) continue;
      await ensureCrds({ client, clock, operators: everywhere, install: true, signal });
      running.push(runOperators({ ...options, operators: everywhere, admin: client, cluster: other, signal }));
    }
    parts.push(...running.map(({ ended }) => ended));
    const over = Promise.race([...parts, untilAborted(signal)]);
    await progress.phase(
      'Starting the operators',
      Promise.race([Promise.all(running.map(({ ready }) => ready)), over]),
    );
    startPods();
    const demoed = demoClusters(cluster, clients);
    const { settings } = options;
    const { data } = settings;
    // They are independent of each other: if one waits (for a registry, a disk), the others continue.
    const applying = demos.map((demo) => applyDemo(demo, { operators, clusters: demoed, data, io, signal }));
    const applied = Promise.race([Promise.all(applying), over]);
    const shown = (await progress.phase('Applying the demonstrations', applied)) ?? [];
    if (demos.length > 0) for (const one of running) one.poke();
    const answered = await progress.phase(
      'Waiting for the answer to a first request',
      Promise.race([answeredRequest(shown, admin, options, signal), over]),
    );
    if (settings.console !== undefined && operators.length > 0 && !signal.aborted) {
      const { host, port } = settings.console;
      const others = cluster.clusters.slice(1).map(({ name }) => name);
      const own = { operators, context: first.name, others, host, port, signal };
      console = await startUpConsole({ ...options, ...own, runtime: () => running[0]?.runtime() });
    }
    if (!signal.aborted) announceReady(shown, answered ?? undefined, console?.fields ?? {});
    parts.push(giveBackStart(running, clock, signal));
    await over;
    if (!io.signal.aborted) throw CliErrors.PartEnded();
  } catch (error) {
    // An interruption while starting is no error.
    if (!io.signal.aborted) throw error;
  } finally {
    stopping.abort();
    await console?.close();
    await progress.phase('Stopping pods and operators', Promise.allSettled(parts));
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** The first request that a demonstration has. */
async function answeredRequest(
  demos: readonly DemoObjects[],
  client: Client,
  { clock, io, settings }: Pick<RunPartsOptions, 'clock' | 'io' | 'settings'>,
  signal: AbortSignal,
): Promise<FirstRequest | undefined> {
  const record = await openDemoRecord(settings.data);
  for (const { folder, name } of demos) {
    const id = `request ${name}`;
    const answered = await firstRequest({ folder, client, clock, io, wasAnswered: record.has(id), signal });
    if (answered !== undefined && 'curl' in answered) await record.add(id);
    if (answered !== undefined) return answered;
  }
  return undefined;
}

/** A cluster that joins a broker needs its own operator, whatever else the first cluster runs. */
const IN_EVERY_CLUSTER: ReadonlySet<string> = new Set(['submariner']);

interface RunningOperators {
  /** Resolves when their caches are full. */
  readonly ready: Promise<void>;
  /** Settles when they have ended; rejects when they could not run. */
  readonly ended: Promise<void>;
  /** True while nothing is left to do. */
  isAtRest(): boolean;
  /** Undefined before it runs. */
  runtime(): Runtime | undefined;
  /** Kinds may have been installed that they wait for: they check now, and not in a quarter of a minute. */
  poke(): void;
}

/** The user's first requests come right after the ready screen: a collection of the whole heap would stop them for half a second. */
const QUIET_MS = 5_000;

/**
 * Returns the memory of the start to the machine. A program that is mostly idle would keep it; under load it may take as much as it needs.
 * It happens once for all operators of all clusters, because a collection visits all of them.
 */
async function giveBackStart(running: readonly RunningOperators[], clock: Clock, signal: AbortSignal): Promise<void> {
  let since: number | undefined;
  const isAtRest = () => {
    if (!running.every((one) => one.isAtRest())) since = undefined;
    else since ??= clock.now();
    return since !== undefined && clock.now() - since >= QUIET_MS;
  };
  await compactHeap({ clock, startOnly: true, isAtRest, signal });
}

/**
 * The data folder belongs to one process at a time, so every `capstan up` of a cluster is the same holder: after a crash the
 * next one need not wait until its Leases run out. They are renewed seldom, which costs an idle laptop less.
 */
const IDENTITY = 'capstan-up';
const LEASE_TIMES = { leaseMs: 30_000, renewMs: 20_000, retryMs: 5_000 };

/** Runs all operators of a cluster on one runtime: kinds that several of them read are cached once. */
function runOperators({
  operators,
  admin,
  cluster,
  signal,
  io,
  clock,
  random,
  logger,
}: RunOperatorsOptions): RunningOperators {
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  const manager = createManager({
    operators,
    connection: connectReader(cluster),
    connectionFor: (operator) => connectOperator(operator, cluster),
    identity: IDENTITY,
    // One collection for the whole process follows when the ready screen is there (giveBackStart).
    compactHeap: false,
    leaderElection: { times: LEASE_TIMES },
    clock,
    random,
    env: io.env,
    logger: withoutWarnings(logger.with({ cluster: cluster.name })),
    onEvent: ({ type }) => {
      if (type === 'ready') isReady();
    },
  });
  const run = async () => {
    for (const operator of operators) await grantOperator(operator, admin, signal);
    await grantReader(operators, admin, signal);
    await manager.run(signal);
  };
  return {
    ready,
    ended: run(),
    isAtRest() {
      const { runtime } = manager;
      return runtime !== undefined && runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
    },
    runtime: () => manager.runtime,
    poke() {
      for (const world of manager.runtime?.worlds.values() ?? []) world.poke();
    },
  };
}

/**
 * Warnings of the API server concern the operators' own objects (a finalizer whose name the original project chose), which a user of this
 * cluster cannot change: they are for debugging.
 */
function withoutWarnings(logger: Logger): Logger {
  return {
    ...logger,
    warn: (message, fields) =>
      fields?.['warning'] === undefined ? logger.warn(message, fields) : logger.debug(message, fields),
    with: (fields) => withoutWarnings(logger.with(fields)),
  };
}

interface RunOperatorsOptions extends Pick<RunUpOptions, 'operators' | 'io' | 'clock' | 'random' | 'logger'> {
  admin: Client;
  cluster: LogicalCluster;
  signal: AbortSignal;
}

function demoClusters({ clusters, ca }: Cluster, clients: readonly Client[]): ReadonlyMap<string, DemoCluster> {
  return new Map(
    clusters.flatMap(({ name, url }, index) => {
      const client = clients[index];
      return client ? [[name, { client, url, ca }] as const] : [];
    }),
  );
}

/** Controllers, scheduler and a node for each logical cluster. Pods of all of them share the addresses of this machine. */
function workloads(
  { clusters }: Cluster,
  nodes: Map<string, LocalNode>,
  clients: readonly Client[],
  { settings, cables, io, clock, random, logger, startingPods }: RunPartsOptions & { startingPods: Promise<void> },
  signal: AbortSignal,
): Promise<void>[] {
  const addresses = createAddressPool(random);
  return clusters.flatMap(({ name, endpoint }, index) => {
    const client = clients[index];
    if (!client) return [];
    const common = { client, clock, random, logger: logger.with({ cluster: name }) };
    const node = createNode({
      ...common,
      images: knownImages(io.env, cables?.environmentOf(name)),
      addresses,
      dataDir: join(settings.data, 'clusters', name, 'node'),
      apiServer: endpoint,
      unknownImages: settings.unknownImages,
    });
    nodes.set(name, node);
    const pods = startingPods.then(() => node.run(signal));
    return [createControllers(common).run(signal), pods, createForwarder(common).run(signal)];
  });
}
