// The composition of a running program: one client, one runtime, a Lease and a recorder of Events for each operator, the
// servers for probes and metrics, traces. `capstan run`, `capstan up` and any other program are this manager with other
// options. It stops in the opposite order of its start.

import { hostname } from 'node:os';
import {
  type Clock,
  type Connection,
  connect,
  createClient,
  type Logger,
  type Random,
  sleep,
  systemClock,
  untilAborted,
} from '@capstan/kube/cluster';
import type { RuntimeRecorder } from '../capture/hooks.ts';
import { ManagerErrors } from '../errors.ts';
import { guardedOr } from '../guard.ts';
import { createLogger } from '../logging/index.ts';
import { createRegistry, type Registry, standardMetrics } from '../metrics/index.ts';
import type { Operator } from '../operator.ts';
import { SYSTEM_NAMESPACE } from '../rbac/index.ts';
import {
  createRuntime,
  ensureDigestKey,
  observeRuntime,
  type Runtime,
  readsSensitive,
  runtimeObserver,
} from '../runtime/index.ts';
import { createTracing, tracedTransport } from '../tracing/index.ts';
import { rolesOf, type World } from '../worlds/index.ts';
import { followClusterSecrets } from './cluster-secrets.ts';
import { compactHeap } from './compact-heap.ts';
import { ensureCrds, isNotInstalled } from './ensure-crds.ts';
import { createOperatorLeases, type LeaseSettings, leaseNameOf, sinkLeadership } from './operator-leases.ts';
import { startServers } from './servers.ts';
import { DEFAULT_STALE_LIMIT_MS, SHORTEST_STALE_LIMIT_MS, staleCaches } from './stale-caches.ts';
import { checkLease, ensureNamespace, orNoNamespace, unlessForbidden } from './system-namespace.ts';

export interface ManagerOptions {
  operators: readonly Operator[];
  /** How the cluster is reached; closed by the manager when it ends. Default: by `kubeconfig`. */
  connection?: ManagerConnection;
  /**
   * The account that an operator writes under, when each has one of its own; closed by the manager too. The caches, which all
   * share, are filled by `connection`. Default: `connection` does everything.
   */
  connectionFor?(operator: Operator): ManagerConnection;
  /** The file; default KUBECONFIG, else the pod's own account, else ~/.kube/config. */
  kubeconfig?: string;
  /** The context in it; default its current one. */
  context?: string;
  /** The operators' own namespace; default that of the connection (a pod's own, or the context's). */
  namespace?: string;
  /** Where the Leases and the digest keys are, wherever the program runs; default `capstan-system`. */
  systemNamespace?: string;
  /** Restrict namespaced kinds to these namespaces; default all. */
  watchNamespaces?: readonly string[];
  /**
   * Add the clusters of Secrets with the label `capstan.dev/cluster-role` in the system namespace. Default true; false is for a
   * program that adds its clusters itself, and shows when those of a role are complete (`runtime.completeWorlds`).
   */
  clusterSecrets?: boolean;
  /** Install or update the CRDs of the operators, and create the system namespace; default false: they must be there. */
  installCrds?: boolean;
  /**
   * Start without CRDs that are missing, and wait for them: the program is alive, and not ready until they are there. Default true in
   * a pod, which is restarted with longer and longer pauses, and false elsewhere: the program does not start.
   */
  waitsForCrds?: boolean;
  /** Create the system namespace and the operators' own where they are absent and this account may; default false. */
  createNamespaces?: boolean;
  /**
   * Write only while holding a Lease, `capstan-OPERATOR` for each operator. Default true; false is for a program that is
   * certain to be the only one.
   */
  leaderElection?: boolean | LeaseSettings;
  /** Who holds a Lease; unique to this process unless the caller excludes a second one. Default host, process id, random. */
  identity?: string;
  /** `HOST:PORT` of /healthz, /livez and /readyz; default none. */
  healthAddress?: string | undefined;
  /** `HOST:PORT` of /metrics; may be the same. Default none. */
  metricsAddress?: string | undefined;
  /** Run every reconcile twice and compare, for operators in development: see RuntimeOptions.checkPurity. Default false. */
  checkPurity?: boolean;
  /** Is shown every input: see startRecording. */
  record?: RuntimeRecorder;
  /** False leaves shared values open to changes: only for measuring the cost of freezing. Default true. */
  freeze?: boolean;
  /**
   * Run V8 so that it needs little memory beside the caches; it holds for the whole process. `start`: only until the caches
   * are full and nothing is left to do. Default true in a pod, where memory is counted, and false elsewhere.
   */
  compactHeap?: boolean | 'start';
  /** Default: to stderr, as JSON in a pod and as text elsewhere. */
  logger?: Logger;
  clock?: Clock;
  random?: Random;
  /** OTEL_* configure tracing, KUBECONFIG and the pod's variables the connection; default process.env. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The name of the process, in traces and to the API server; default `capstan`. */
  serviceName?: string;
  userAgent?: string;
  /** Each step as it happens: for progress on a screen or lines for another program. */
  onEvent?(event: ManagerEvent): void;
  /** Called with the registry before it runs: for figures of the program's own. */
  onMetrics?(registry: Registry): void;
}

export type ManagerConnection = Omit<Connection, 'context' | 'namespace'> &
  Partial<Pick<Connection, 'context' | 'namespace'>>;

export type ManagerEvent =
  | {
      readonly type: 'started';
      readonly context: string;
      readonly namespace: string;
      readonly operators: readonly string[];
      /** Addresses with the ports that were found. */
      readonly health?: string;
      readonly metrics?: string;
    }
  /** Every cache is full. */
  | { readonly type: 'ready' }
  | { readonly type: 'stopped' };

export interface Manager {
  /** Runs until the signal is aborted and everything has ended; once. Throws when it cannot start. */
  run(signal: AbortSignal): Promise<void>;
  /** Undefined before `started`. */
  readonly runtime: Runtime | undefined;
}

export function createManager(options: ManagerOptions): Manager {
  let runtime: Runtime | undefined;
  return {
    get runtime() {
      return runtime;
    },
    run: (signal) =>
      runManager(withDefaults(options), signal, (created) => {
        runtime = created;
      }),
  };
}

/** As long as Kubernetes waits by default before it kills. */
const SHUTDOWN_MS = 30_000;
const POLL_MS = 100;
const WAITING_MS = 15_000;

async function runManager(options: Settled, signal: AbortSignal, take: (runtime: Runtime) => void): Promise<void> {
  const { operators, clock, random, logger, env, identity, systemNamespace, leases, onEvent } = options;
  for (const { name, warnings = [] } of operators)
    for (const warning of warnings) logger.warn(warning, { operator: name });
  const registry = createRegistry();
  const metrics = standardMetrics(registry);
  const tracing = createTracing({ environment: env, serviceName: options.serviceName, clock, random, logger });
  const connection = await open(options);
  const clientOf = (transport: ManagerConnection) =>
    createClient({
      transport: tracing.isEnabled ? tracedTransport(transport, tracing.tracer) : transport,
      userAgent: options.userAgent,
      clock,
      logger,
      observe: metrics.request,
    });
  const client = clientOf(connection);
  const { connectionFor } = options;
  const own = new Map(connectionFor && operators.map((one) => [one.name, clientOf(connectionFor(one))]));
  const clientFor = (operator: string) => own.get(operator) ?? client;
  try {
    const namespace = options.namespace ?? connection.namespace ?? systemNamespace;
    if (options.installCrds) await ensureNamespace(client, systemNamespace, signal);
    for (const name of options.createNamespaces ? new Set([systemNamespace, namespace]) : [])
      await ensureNamespace(client, name, signal).catch(unlessForbidden);
    await ensureCrds({ client, clock, operators, install: options.installCrds, signal }).catch((error: unknown) => {
      if (!options.waitsForCrds || !isNotInstalled(error)) throw error;
      logger.warn('waits for definitions', { error });
    });
    if (leases !== undefined) {
      for (const operator of operators) {
        const lease = { namespace: systemNamespace, name: leaseNameOf(operator, operators, leases) };
        await checkLease(clientFor(operator.name), lease, signal);
      }
    }
    /** Undefined until the cluster is added. */
    let home: World | undefined;
    const contest = {
      clientFor,
      clock,
      random,
      logger,
      metrics,
      identity,
      operators,
      leases,
      namespace: systemNamespace,
      unfit: (operator: Operator) => home && staleCaches(home, operator, options.staleLimitMs),
    };
    const led = createOperatorLeases(contest);
    const runtime = createRuntime({
      operators,
      clock,
      random,
      logger,
      leadership: (operator) => found(led.get(operator)).leadership,
      sinkLeadership: (operator, lease) => sinkLeadership(operator, { namespace, ...lease }, contest),
      notify: (_world, operator, owner, event) => found(led.get(operator)).events.record(owner, event),
      observe: runtimeObserver(metrics),
      tracer: tracing.tracer,
      ...(options.checkPurity ? { checkPurity: true } : {}),
      ...(options.record && { record: options.record }),
      ...(options.freeze === undefined ? {} : { freeze: options.freeze }),
    });
    for (const { name } of operators.filter(readsSensitive)) {
      const where = { namespace: systemNamespace, operator: name, signal };
      runtime.setDigestKey(await orNoNamespace(systemNamespace, ensureDigestKey(clientFor(name), where)), name);
    }
    const servers = await startServers({ ...options, registry, runtime, led });
    try {
      const { watchNamespaces } = options;
      const local = { name: '', client, clientFor, namespace };
      const world = runtime.addWorld({ ...local, ...(watchNamespaces && { watchNamespaces }) });
      home = world;
      observeRuntime(metrics, runtime);
      for (const operator of operators)
        guardedOr(
          `metrics of the operator ${operator.name}`,
          () => operator.metrics?.({ registry, clock, peek: (kind) => world.peek(kind) }),
          (error) => logger.error('the figures of an operator cannot be shown', { operator: operator.name, error }),
        );
      options.onMetrics?.(registry);
      take(runtime);
      const names = operators.map(({ name }) => name);
      const context = connection.context ?? '';
      onEvent?.({ type: 'started', context, namespace, operators: names, ...servers.addresses });
      const clusters = followClusterSecrets({
        client,
        runtime,
        roles: options.clusterSecrets === false ? [] : rolesOf(declarationsOf(operators)),
        namespace: systemNamespace,
        clock,
        random,
        logger,
        userAgent: options.userAgent,
        signal,
      });
      const isAtRest = () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
      const heap = options.compactHeap
        ? compactHeap({ clock, startOnly: options.compactHeap === 'start', isAtRest, signal })
        : Promise.resolve();
      const parts = [runtime.run(signal), tracing.run(signal), clusters, ready(runtime, options, signal), heap];
      await ended(parts, clock, signal);
      onEvent?.({ type: 'stopped' });
    } finally {
      await servers.close();
    }
  } finally {
    await Promise.all([client, ...own.values()].map((one) => one.close()));
  }
}

function declarationsOf(operators: readonly Operator[]) {
  return operators.flatMap(({ reconcilers, sinks = [] }) => [...reconcilers, ...sinks]);
}

type Settled = ReturnType<typeof withDefaults>;

function withDefaults(options: ManagerOptions) {
  const { env = process.env, clock = systemClock, leaderElection = true, operators } = options;
  const names = operators.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw ManagerErrors.SameOperator(twice);
  const leases = leaderElection === false ? undefined : leaderElection === true ? {} : leaderElection;
  const staleLimitMs = leases?.staleLimitMs ?? DEFAULT_STALE_LIMIT_MS;
  if (staleLimitMs < SHORTEST_STALE_LIMIT_MS) throw ManagerErrors.StaleLimitTooShort(staleLimitMs);
  const isPod = Boolean(env['KUBERNETES_SERVICE_HOST']);
  const write = (line: string) => void process.stderr.write(line);
  return {
    ...options,
    env,
    clock,
    random: options.random ?? Math.random,
    logger: options.logger ?? createLogger({ clock, format: isPod ? 'json' : 'text', write }),
    serviceName: options.serviceName ?? 'capstan',
    userAgent: options.userAgent ?? 'capstan',
    systemNamespace: options.systemNamespace ?? SYSTEM_NAMESPACE,
    installCrds: options.installCrds ?? false,
    waitsForCrds: options.waitsForCrds ?? isPod,
    compactHeap: options.compactHeap ?? isPod,
    identity: options.identity ?? `${hostname()}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`,
    leases,
    staleLimitMs,
  };
}

async function open({ connection, kubeconfig, context, env, clock }: Settled): Promise<ManagerConnection> {
  if (connection !== undefined) return connection;
  const where = { ...(kubeconfig !== undefined && { kubeconfig }), ...(context !== undefined && { context }) };
  return connect({ env, clock, ...where });
}

/** Reports when the caches are full. Meanwhile, the log names the kinds that they wait for. */
async function ready(runtime: Runtime, { clock, logger, onEvent }: Settled, signal: AbortSignal): Promise<void> {
  let reported = clock.now();
  while (!runtime.isSynced && !signal.aborted) {
    await sleep(clock, POLL_MS, signal).catch(() => {});
    if (clock.now() - reported < WAITING_MS) continue;
    reported = clock.now();
    const waitingFor = runtime.status().worlds.flatMap((world) => world.waitingFor);
    logger.warn('still waiting for caches to fill', { waitingFor });
  }
  if (!signal.aborted) onEvent?.({ type: 'ready' });
}

/** Waits for all parts, and not forever once they were asked to stop. */
async function ended(parts: readonly Promise<void>[], clock: Clock, signal: AbortSignal): Promise<void> {
  const stopped = new AbortController();
  const late = async () => {
    await untilAborted(signal);
    await sleep(clock, SHUTDOWN_MS, stopped.signal);
    throw ManagerErrors.StoppedLate(SHUTDOWN_MS / 1000);
  };
  const limit = late();
  // Rejected by `stopped` when all parts have ended: nothing waits for it any more.
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
