// The program of a gateway: drivers, the operator of src/gateway on two worlds, health checks and the report.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Client,
  type Clock,
  connect,
  connectKubeconfig,
  createClient,
  type Logger,
  reasonOf,
  sleep,
} from '@capstan/kube';
import { createManager, type Runtime } from '@capstan/reconcile';
import { stringify } from 'yaml';
import { contains } from '../drivers/addresses.ts';
import { createDrivers } from '../drivers/create-drivers.ts';
import type { LocalEnd } from '../drivers/driver.ts';
import { createHost, type Host, type Programs } from '../host/index.ts';
import { type CableEngine, createCableEngine } from './cable-engine.ts';
import { type GatewayConfiguration, readPreSharedKey } from './configuration.ts';
import { createGatewayOperator, GATEWAY_LEASE } from './gateway-operator.ts';
import { createGatewayWriter, gatewayStatusOf } from './gateway-report.ts';
import { type Health, type HealthCheck, startHealthCheck } from './health.ts';
import { createSimulatedEngine } from './simulated-engine.ts';
import { type EndpointPlan, localEndpoint } from './wanted-cable.ts';

export interface RunGatewayOptions {
  readonly configuration: GatewayConfiguration;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Cables that exist in reports only; false by default. */
  readonly isSimulated?: boolean;
  /** Work in this network namespace instead of the process's own. */
  readonly networkNamespace?: string;
  readonly programs?: Partial<Programs>;
  readonly runDir?: string;
  readonly wireguardDevice?: string;
  readonly version: string;
  /** How long an old way stays after a switch. */
  readonly drainMs?: number;
}

const REPORT_MS = 1000;

export async function runGateway(options: RunGatewayOptions): Promise<void> {
  const { configuration, env, clock, logger, signal, isSimulated = false, version } = options;
  const { clusterID, namespace } = configuration;
  const host = isSimulated
    ? undefined
    : createHost({
        ...(options.networkNamespace !== undefined && { namespace: options.networkNamespace }),
        ...(options.runDir !== undefined && { runDir: options.runDir }),
        ...(options.programs !== undefined && { programs: options.programs }),
      });
  const local = await localEnd(configuration, host);
  const engine = engineOf(options, host, local);
  const drivers = await engine.start();
  const started = new Map(
    [...drivers].flatMap(([name, start]) => ('config' in start ? [[name as string, start.config] as const] : [])),
  );
  const gateway = { clusterID, namespace, local, preferredServer: configuration.preferredServer };
  const endpoint = localEndpoint(gateway, started, {
    hostname: configuration.nodeName,
    publicIP: configuration.publicIP ?? '',
    natEnabled: configuration.natEnabled,
    defaultDriver: configuration.drivers[0] ?? 'ipsec',
  });
  let plans: ReadonlyMap<string, EndpointPlan> = new Map();
  let mayAct = () => false;
  const operator = createGatewayOperator({
    gateway,
    brokerNamespace: configuration.broker.namespace,
    engine,
    endpoint,
    logger,
    onOpen: (ask) => {
      mayAct = ask;
    },
    onPlans: (next) => {
      plans = new Map(next);
    },
  });
  const broker = await brokerClient(configuration);
  const connection = await connect({ env, clock });
  const client = createClient({ transport: connection, clock, logger });
  const life = new AbortController();
  const stop = AbortSignal.any([signal, life.signal]);
  const manager = createManager({
    operators: [operator],
    connection: await connect({ env, clock }),
    namespace,
    systemNamespace: namespace,
    clusterSecrets: false,
    leaderElection: { name: GATEWAY_LEASE },
    watchNamespaces: [namespace],
    env,
    clock,
    logger,
    serviceName: 'submariner-gateway',
    onEvent(event) {
      if (event.type === 'started') addBroker(manager.runtime, broker, configuration);
    },
  });
  const checks = new Map<string, HealthCheck>();
  const writer = createGatewayWriter(client, { namespace, name: configuration.nodeName });
  const reporting = async () => {
    while (!stop.aborted) {
      const isActive = mayAct();
      if (host !== undefined && configuration.health.enabled)
        updateChecks(checks, plans, engine, host, local, configuration);
      const health = new Map([...checks].map(([name, check]): [string, Health] => [name, check.current()]));
      const parts = { version, isActive, isSimulated, endpoint, drivers, plans, cables: engine.reports(), health };
      await writer
        .write(gatewayStatusOf(parts))
        .catch((error: unknown) => logger.warn('the Gateway object is not written', { problem: reasonOf(error) }));
      await sleep(clock, REPORT_MS, stop).catch(() => {});
    }
  };
  try {
    await Promise.all([manager.run(stop), engine.watch(stop, () => {}), reporting()]);
  } finally {
    life.abort();
    for (const check of checks.values()) check.stop();
    await writer.remove().catch(() => {});
    await Promise.all([client.close(), broker?.close()]);
  }
}

function engineOf(options: RunGatewayOptions, host: Host | undefined, local: LocalEnd): CableEngine {
  const { configuration, clock, logger, drainMs, wireguardDevice } = options;
  if (host === undefined) return createSimulatedEngine(configuration.drivers);
  const drivers = createDrivers({
    names: configuration.drivers,
    host,
    local,
    clock,
    psk: () => Promise.resolve(readPreSharedKey(configuration.pskFile)),
    defaults: configuration.options,
    ...(wireguardDevice !== undefined && { wireguardDevice }),
  });
  return createCableEngine({
    host,
    drivers,
    sourceIP: local.sourceIP,
    clock,
    logger,
    ...(drainMs !== undefined && { drainMs }),
  });
}

/** The address that this host sends from, and one within its pod network, which answers health checks. */
async function localEnd(configuration: GatewayConfiguration, host: Host | undefined): Promise<LocalEnd> {
  const subnets = [...configuration.serviceCIDRs, ...configuration.clusterCIDRs];
  if (host === undefined) return { privateIP: simulatedAddress(configuration.clusterID), subnets, sourceIP: undefined };
  const links = await host.query('ip', '-4', 'addr', 'show');
  const addresses = links.flatMap(({ ifname, addr_info: list }) =>
    Array.isArray(list)
      ? list.map((each: { local?: string }) => ({ device: String(ifname), address: each.local ?? '' }))
      : [],
  );
  const sourceIP = addresses.find(
    ({ address, device }) => device !== 'lo' && configuration.clusterCIDRs.some((cidr) => contains(cidr, address)),
  )?.address;
  const [route] = await host.query('ip', '-4', 'route', 'show', 'default');
  const isOwn = (address: string) => subnets.some((cidr) => contains(cidr, address));
  const outside = addresses.filter(
    ({ device, address }) => device !== 'lo' && !isOwn(address) && !/^24[0-9]\./.test(address),
  );
  const chosen = outside.find(({ device }) => device === route?.['dev']) ?? outside[0];
  return { privateIP: chosen?.address ?? '127.0.0.1', subnets, sourceIP };
}

/** Simulated gateways need addresses that differ; nothing is sent to them. */
function simulatedAddress(clusterID: string): string {
  const sum = clusterID.split('').reduce((total, letter) => (total * 31 + letter.charCodeAt(0)) % 65_000, 7);
  return `192.0.${Math.floor(sum / 250) % 250}.${(sum % 250) + 1}`;
}

async function brokerClient({ broker }: GatewayConfiguration): Promise<Client | undefined> {
  const { server, folder, ca, insecure } = broker;
  if (server === '' || folder === undefined) return undefined;
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return undefined;
    }
  };
  const authority = read('ca.crt') ?? (ca === undefined ? undefined : Buffer.from(ca, 'base64').toString('utf8'));
  const kubeconfig = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'broker',
    clusters: [
      {
        name: 'broker',
        cluster: {
          server: server.includes('://') ? server : `https://${server}`,
          ...(insecure && { 'insecure-skip-tls-verify': true }),
          ...(!insecure &&
            authority !== undefined && { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
        },
      },
    ],
    users: [{ name: 'gateway', user: { token: read('token') ?? '' } }],
    contexts: [{ name: 'broker', context: { cluster: 'broker', user: 'gateway' } }],
  });
  return createClient({ transport: await connectKubeconfig(kubeconfig, { name: 'broker' }) });
}

function addBroker(runtime: Runtime | undefined, client: Client | undefined, { broker }: GatewayConfiguration): void {
  if (runtime === undefined) return;
  if (client === undefined) runtime.completeWorlds('broker');
  else
    runtime.addWorld({
      name: 'broker',
      role: 'broker',
      client,
      namespace: broker.namespace,
      watchNamespaces: [broker.namespace],
    });
}

/** One check for each cable whose other end says where. */
function updateChecks(
  checks: Map<string, HealthCheck>,
  plans: ReadonlyMap<string, EndpointPlan>,
  engine: CableEngine,
  host: Host,
  { sourceIP }: LocalEnd,
  { health }: GatewayConfiguration,
): void {
  const wanted = new Map<string, string>();
  for (const { endpoint, wanted: cable } of plans.values())
    if (cable !== undefined && endpoint.healthCheckIP !== undefined && engine.reports().has(endpoint.cable_name))
      wanted.set(endpoint.cable_name, endpoint.healthCheckIP);
  for (const [name, check] of checks) {
    if (wanted.has(name)) continue;
    check.stop();
    checks.delete(name);
  }
  for (const [name, address] of wanted) {
    if (checks.has(name)) continue;
    checks.set(
      name,
      startHealthCheck({
        host,
        address,
        sourceIP,
        intervalSeconds: health.intervalSeconds,
        maxPacketLoss: health.maxPacketLoss,
      }),
    );
  }
}
