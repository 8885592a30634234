// The program of a gateway: drivers, the operator of src/gateway on two worlds, health checks and the report.
import { type Client, type Clock, connect, createClient, type Logger, reasonOf, sleep } from '@capstan/kube';
import { createManager } from '@capstan/reconcile';
import { Submariner } from '../kinds/index.ts';
import { addBroker, connectBroker, watchBroker } from './broker/broker-connection.ts';
import { renewToken } from './broker/broker-token.ts';
import { createMemberHeartbeat } from './broker/member-heartbeat.ts';
import { type DriverStart } from './cable-engine.ts';
import { createCell } from './cell.ts';
import type { GatewayConfiguration } from './configuration.ts';
import { createGatewayFiles } from './gateway-files.ts';
import { type MetricParts, registerGatewayMetrics } from './gateway-metrics.ts';
import { createGatewayOperator, GATEWAY_LEASE } from './gateway-operator.ts';
import {
  engineOf,
  hasPrograms,
  hostOf,
  leaseTimes,
  missingForChecks,
  natDiscovery,
  REPORT_MS,
  type RunGatewayOptions,
  restoredBackstop,
} from './gateway-parts.ts';
import { createGatewayWriter, gatewayStatusOf } from './gateway-report.ts';
import { createHealthChecks } from './health-checks.ts';
import { BEAT_MS, createHeartbeat } from './heartbeat.ts';
import { ensurePodNetwork, localEnd } from './local-end.ts';
import { withNodeSettings } from './node-settings.ts';
import { activeNode, gatewayIdentity, hasLostNode } from './role.ts';
import { type EndpointPlan, localEndpoint } from './wanted-cable.ts';

const ROLE_MS = 1000;

const TOKEN_CHECK_MS = 60_000;

export async function runGateway(options: RunGatewayOptions): Promise<void> {
  const { env, clock, logger, signal, isSimulated = false, version } = options;
  const { namespace, nodeName } = options.configuration;
  const host = isSimulated ? undefined : hostOf(options);
  // Before anything that needs the API server: it may be reached through the network that is being protected.
  const backstop = host === undefined ? undefined : await restoredBackstop(host, options);
  const client = createClient({ transport: await connect({ env, clock }), clock, logger });
  const writer = createGatewayWriter(client, { namespace, name: nodeName });
  if (host !== undefined && !(await hasPrograms(host, writer, options))) {
    await writer.remove().catch(() => {});
    await client.close();
    return;
  }
  const node = await withNodeSettings(client, options.configuration);
  const { configuration } = node;
  const { clusterID } = configuration;
  if (host !== undefined && options.createsPodNetwork === true) await ensurePodNetwork(configuration, host);
  const local = await localEnd(configuration, host);
  const files = createGatewayFiles({ ...configuration, clock });
  const nat = host === undefined ? undefined : await natDiscovery(configuration, local, host, options);
  const driverOptions = createCell('driver-options', files.options());
  const gateway = {
    clusterID,
    namespace,
    local,
    preferredServer: configuration.preferredServer,
    options: driverOptions.source,
  };
  const endpointOf = (starts: ReadonlyMap<string, DriverStart>) =>
    localEndpoint(
      gateway,
      new Map([...starts].flatMap(([name, start]) => ('config' in start ? [[name, start.config] as const] : []))),
      {
        hostname: nodeName,
        publicIP: configuration.publicIP ?? '',
        natEnabled: configuration.natEnabled,
        defaultDriver: configuration.drivers[0] ?? 'ipsec',
        discoveryPort: nat === undefined ? 0 : configuration.discoveryPort,
      },
    );
  const drivers = createCell<ReadonlyMap<string, DriverStart>>('drivers', new Map());
  const endpoint = createCell('own-endpoint', endpointOf(drivers.get()));
  let mayAct = () => false;
  let hasStarted = false;
  const engine = engineOf({ ...options, configuration }, host, local, files, nat, {
    backstop,
    onStarts(starts) {
      drivers.set(starts);
      if (hasStarted) endpoint.set(endpointOf(starts));
    },
  });
  drivers.set(await engine.start());
  hasStarted = true;
  endpoint.set(endpointOf(drivers.get()));
  let plans: ReadonlyMap<string, EndpointPlan> = new Map();
  /** Undefined as long as no Submariner resource was seen. */
  let isInstalled: boolean | undefined;
  const operator = createGatewayOperator({
    gateway,
    brokerNamespace: configuration.broker.namespace,
    needsResource: Boolean(env['POD_NAME']),
    brokerServer: configuration.broker.server,
    engine,
    endpoint: endpoint.source,
    logger,
    onOpen: (ask) => {
      mayAct = ask;
    },
    onPlans: (next) => {
      plans = new Map(next);
    },
    onInstalled: (next) => {
      isInstalled = next;
    },
    backstop,
  });
  const broker = await connectBroker(configuration, clock);
  const brokerState = watchBroker(broker, clock);
  const life = new AbortController();
  const stop = AbortSignal.any([signal, life.signal]);
  const checks = createHealthChecks(host, local, configuration);
  const statusNow = () =>
    gatewayStatusOf({
      version,
      isActive: mayAct(),
      isSimulated,
      endpoint: endpoint.get(),
      drivers: drivers.get(),
      problems: [...node.problems, ...files.problems(), ...missingForChecks(host)],
      brokerProblem: brokerState.problem(manager.runtime),
      plans,
      cables: engine.reports(),
      health: checks.current(),
      isProtected: backstop === undefined ? undefined : (subnets) => backstop.isInForce(subnets),
    });
  const metricParts = (): MetricParts => ({
    local: endpoint.get(),
    connections: statusNow().connections ?? [],
    cables: engine.reports(),
    health: checks.current(),
  });
  let synced = () => {};
  const manager = createManager({
    operators: [operator],
    connection: await connect({ env, clock }),
    namespace,
    systemNamespace: namespace,
    clusterSecrets: false,
    compactHeap: true,
    leaderElection: { name: GATEWAY_LEASE, times: leaseTimes(env) },
    identity: gatewayIdentity(nodeName),
    watchNamespaces: [namespace],
    ...(configuration.metricsPort > 0 && !isSimulated && { metricsAddress: `:${configuration.metricsPort}` }),
    onMetrics: (registry) => {
      synced = registerGatewayMetrics(registry, metricParts).sync;
    },
    env,
    clock,
    logger,
    serviceName: 'submariner-gateway',
    onEvent(event) {
      if (event.type === 'started') addBroker(manager.runtime, broker, configuration);
    },
  });
  const heartbeat = createHeartbeat({ client, namespace, node: nodeName, clock });
  const memberHeartbeat = createMemberHeartbeat({
    client,
    namespace,
    broker: broker?.client,
    brokerNamespace: configuration.broker.namespace,
    clusterID,
    clock,
  });
  const { secret, folder } = configuration.broker;
  let wasActive = false;
  /** Whether cables of this node, also those of an earlier process, are known to be gone. */
  let standsBy = false;
  const duties: readonly Duty[] = [
    {
      everyMs: REPORT_MS,
      problem: 'the Gateway object is not written',
      async run() {
        checks.update(plans, engine);
        const isActive = mayAct();
        // The report of a gateway that was active before goes first: no two are reported as active.
        if (isActive !== wasActive) await heartbeat.beat(isActive);
        wasActive = isActive;
        await writer.write(statusNow());
        synced();
      },
    },
    {
      everyMs: ROLE_MS,
      problem: 'it is not known whether another gateway is active',
      async run() {
        if (mayAct()) standsBy = false;
        if (mayAct() || standsBy) return;
        const node = await activeNode(client, { namespace, name: GATEWAY_LEASE });
        if (node === undefined || node === nodeName || mayAct()) return;
        logger.info('another gateway is active: the cables of this node are removed', { node });
        await engine.standBy();
        standsBy = true;
      },
    },
    {
      everyMs: BEAT_MS,
      problem: 'the Lease of this gateway is not renewed',
      async run() {
        await heartbeat.beat(mayAct());
        await writer.check();
      },
    },
    {
      everyMs: BEAT_MS,
      problem: 'the heartbeat of this cluster is not on the broker',
      async run() {
        await brokerState.probe(manager.runtime, configuration.broker.namespace);
        if (mayAct()) await memberHeartbeat.beat();
      },
    },
    {
      everyMs: TOKEN_CHECK_MS,
      problem: 'the token for the broker is not renewed',
      async run() {
        if (broker === undefined || secret === undefined || folder === undefined || !mayAct()) return;
        const place = { namespace, name: secret };
        const isRenewed = await renewToken({ broker: broker.client, client, secret: place, folder, clock });
        if (isRenewed) logger.info('the token for the broker was renewed', { secret });
      },
    },
  ];
  const followFiles = async () => {
    logger.info('options or keys of this gateway have changed');
    driverOptions.set(files.options());
    await engine
      .reconfigure()
      .catch((error: unknown) => logger.warn('options or keys are not in use', { problem: reasonOf(error) }));
  };
  try {
    await Promise.all([
      manager.run(stop),
      engine.watch(stop, () => {}),
      files.watch(stop, followFiles),
      ...duties.map((duty) => runDuty(duty, clock, logger, stop)),
    ]);
  } finally {
    life.abort();
    checks.stop();
    nat?.close();
    const reason = await reasonToLeave(client, { namespace, nodeName }, isInstalled);
    if (reason !== undefined) {
      logger.info('the cables of this node are removed', { reason });
      await engine
        .withdraw()
        .catch((error: unknown) => logger.error('cables are left on the host', { problem: reasonOf(error) }));
    } else logger.info('the cables of this node stay for the next gateway');
    await writer.remove().catch(() => {});
    await heartbeat.end();
    await Promise.all([client.close(), broker?.close()]);
  }
}

/** Removes the cables of a gateway from this host: for one that was started by hand, and for nodes without a gateway. */
export async function cleanUpGateway(options: RunGatewayOptions): Promise<void> {
  const host = hostOf(options);
  const backstop = await restoredBackstop(host, options);
  const files = createGatewayFiles({ ...options.configuration, clock: options.clock });
  const local = await localEnd(options.configuration, host);
  const engine = engineOf(options, host, local, files, undefined, { backstop, onStarts: () => {} });
  await engine.withdraw();
}

/** Why nothing of this gateway may stay on the node; undefined where another gateway process comes after it. */
async function reasonToLeave(
  client: Client,
  { namespace, nodeName }: Pick<GatewayConfiguration, 'namespace' | 'nodeName'>,
  installed: boolean | undefined,
): Promise<string | undefined> {
  // Without an answer they stay: removing them would interrupt traffic, and open networks that must be closed.
  const isGone = async () => {
    const { items } = await client.list(Submariner, { namespace });
    return items.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
  };
  // The cache may be older than the deletion. A gateway that was started by hand never had such a resource.
  if (installed === false || (installed === true && (await isGone().catch(() => false))))
    return 'Submariner is uninstalled';
  const isLost = await hasLostNode(client, nodeName).catch(() => false);
  return isLost ? `node ${nodeName} is no longer one for gateways` : undefined;
}

/** A periodic task of a gateway, which runs at once for the first time. An error is reported and does not end it. */
interface Duty {
  readonly everyMs: number;
  readonly problem: string;
  run(): Promise<void>;
}

async function runDuty(
  { everyMs, problem, run }: Duty,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await run().catch((error: unknown) => logger.warn(problem, { problem: reasonOf(error) }));
    await sleep(clock, everyMs, signal).catch(() => {});
  }
}
