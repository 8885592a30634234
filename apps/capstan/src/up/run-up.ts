// A whole cluster in one process: the API server and its data folder, the workload controllers and a node for each logical
// cluster, and the operators, each under its own service account with the permissions that it declares and no others. It
// ends in the opposite order of its beginning.
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
  untilAborted,
} from '@capstan/kube';
import { createAddressPool, createControllers, createForwarder, createNode, type LocalNode } from '@capstan/node';
import { createManager, ensureCrds, ensureNamespace, type Operator, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { applyDemo, type Demo, type DemoCluster } from './demo.ts';
import { knownImages } from './known-images.ts';
import { connectOperator, grantOperator } from './operator-account.ts';
import type { UpSettings } from './up-options.ts';

export interface RunUpOptions {
  settings: UpSettings;
  operators: readonly Operator[];
  /** What there is to look at; empty without --demo. */
  demos: readonly Demo[];
  io: Io;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Tells whoever started us: started, ready, stopped. */
  announce(event: string, fields: object): void;
}

/** Runs until the io's signal is aborted and everything has ended. Throws when it cannot start, or when a part gives up. */
export async function runUp(options: RunUpOptions): Promise<void> {
  const { settings, clock, random, logger, announce } = options;
  const { data, host, port } = settings;
  const clusters = [...new Set([...settings.clusters, ...options.demos.flatMap((demo) => demo.clusters)])];
  // The nodes come after the servers, which ask them for logs.
  const nodes = new Map<string, LocalNode>();
  const readLogs: ClusterOptions['readLogs'] =
    (name) =>
    async (...asked) => {
      const node = nodes.get(name);
      if (!node) throw CliErrors.NoNodeYet(name);
      return node.logs(...asked);
    };
  const cluster = await startCluster({ clock, random, logger, data, host, port, clusters, readLogs });
  try {
    await writeKubeconfig(settings.kubeconfig, cluster.kubeconfig);
    const told = cluster.clusters.map(({ name, url }) => ({ name, url }));
    announce('started', { clusters: told, data, operators: options.operators.map(({ name }) => name) });
    await runParts(cluster, nodes, options, () =>
      announce('ready', { kubeconfig: settings.kubeconfig, clusters: told }),
    );
  } finally {
    await cluster.close();
  }
  announce('stopped', {});
}

/** Everything that runs besides the API server, until the signal; a part that fails ends them all. */
async function runParts(
  cluster: Cluster,
  nodes: Map<string, LocalNode>,
  options: RunUpOptions,
  announceReady: () => void,
): Promise<void> {
  const { operators, demos, io, clock } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([io.signal, stopping.signal]);
  const clients = cluster.clusters.map(({ server }) =>
    // Of the cluster's own parts: what the server warns its controllers of (they keep Endpoints, too) is news to nobody.
    createClient({ transport: server.transport({ userAgent: 'capstan' }), clock, logger: silentLogger }),
  );
  const [admin] = clients;
  const [first] = cluster.clusters;
  if (!admin || !first) throw new TypeError('a cluster without a logical cluster was started');
  const parts = workloads(cluster, nodes, clients, options, signal);
  try {
    for (const client of clients) await ensureNamespace(client, SYSTEM_NAMESPACE, signal);
    await ensureCrds({ client: admin, clock, operators, install: true, signal });
    // The operators run in the first cluster; those that reach others do so from there.
    const running = operators.map((operator) => runOperator(operator, { ...options, admin, cluster: first, signal }));
    parts.push(...running.map(({ ended }) => ended));
    const over = Promise.race([...parts, untilAborted(signal)]);
    await Promise.race([Promise.all(running.map(({ ready }) => ready)), over]);
    const demoed = demoClusters(cluster, clients);
    const data = options.settings.data;
    for (const demo of demos) {
      await Promise.race([applyDemo(demo, { operators, clusters: demoed, data, io, signal }), over]);
    }
    if (demos.length > 0) for (const operator of running) operator.poke();
    if (!signal.aborted) announceReady();
    await over;
    if (!io.signal.aborted) throw CliErrors.PartEnded();
  } catch (error) {
    // Whoever was interrupted while starting has got what he wanted.
    if (!io.signal.aborted) throw error;
  } finally {
    stopping.abort();
    await Promise.allSettled(parts);
    await Promise.all(clients.map((client) => client.close()));
  }
}

interface RunningOperator {
  /** Resolves when its caches are full. */
  readonly ready: Promise<void>;
  /** Settles when it has ended; rejects when it could not run. */
  readonly ended: Promise<void>;
  /** Kinds may have been installed that it waits for: it checks now, and not in a quarter of a minute. */
  poke(): void;
}

/**
 * The data folder belongs to one process at a time, so every `capstan up` of a cluster is the same holder: after a crash the
 * next one need not wait until its Leases run out. They are renewed seldom, which costs an idle laptop less.
 */
const IDENTITY = 'capstan-up';
const LEASE_TIMES = { leaseMs: 30_000, renewMs: 20_000, retryMs: 5_000 };

function runOperator(
  operator: Operator,
  { admin, cluster, signal, io, clock, random, logger }: RunOperatorOptions,
): RunningOperator {
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  const manager = createManager({
    operators: [operator],
    connection: connectOperator(operator, cluster),
    identity: IDENTITY,
    leaderElection: { times: LEASE_TIMES },
    clock,
    random,
    env: io.env,
    logger: logger.with({ operator: operator.name }),
    onEvent: ({ type }) => {
      if (type === 'ready') isReady();
    },
  });
  return {
    ready,
    ended: grantOperator(operator, admin, signal).then(() => manager.run(signal)),
    poke() {
      for (const world of manager.runtime?.worlds.values() ?? []) world.poke();
    },
  };
}

interface RunOperatorOptions extends Pick<RunUpOptions, 'io' | 'clock' | 'random' | 'logger'> {
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
  { settings, io, clock, random, logger }: RunUpOptions,
  signal: AbortSignal,
): Promise<void>[] {
  const addresses = createAddressPool(random);
  return clusters.flatMap(({ name, endpoint }, index) => {
    const client = clients[index];
    if (!client) return [];
    const common = { client, clock, random, logger: logger.with({ cluster: name }) };
    const node = createNode({
      ...common,
      images: knownImages(io.env),
      addresses,
      dataDir: join(settings.data, 'clusters', name, 'node'),
      apiServer: endpoint,
    });
    nodes.set(name, node);
    return [createControllers(common).run(signal), node.run(signal), createForwarder(common).run(signal)];
  });
}
