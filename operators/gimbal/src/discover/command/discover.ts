// `gimbal discover kubernetes` and `gimbal discover openstack`: a discoverer as a program.
import {
  type Client,
  type Clock,
  createClient,
  externalKind,
  type Kind,
  type Logger,
  type Random,
  reasonOf,
  systemClock,
  type UnknownObject,
} from '@capstan/kube/cluster';
import { serveHealth } from '@capstan/reconcile/health';
import { createLogger, createRedactor, type Redactor } from '@capstan/reconcile/logging';
import { CONTOUR_GROUP, GROUP, VERSION as KIND_VERSION } from '../../kinds/group.ts';
import { createDiscoverer, DEFAULT_SETTINGS, type DiscovererSettings } from '../discoverer.ts';
import { DiscoverErrors } from '../errors.ts';
import { connectRemote } from '../kubernetes/connect.ts';
import { createKubernetesSource } from '../kubernetes/source.ts';
import type { RemoteSide } from '../remote-side.ts';
import { measuredTransport } from '../report/measured-transport.ts';
import { createMetrics, type DiscovererMetrics } from '../report/metrics.ts';
import { VERSION } from '../version.ts';
import { type BackendType, checkFlags, flagHelp, type Given, nameWarning, parseFlags } from './flags.ts';
import type { DiscoverIo } from './io.ts';

/** Runs until the signal is aborted; resolves to an exit code. Mistakes in the command are thrown as DiscoverErrors. */
export async function runDiscover(argv: readonly string[], io: DiscoverIo): Promise<number> {
  const [type, ...rest] = argv;
  if (type === '--help' || type === '-h' || type === 'help') {
    io.stdout(DISCOVER_HELP);
    return 0;
  }
  if (type !== 'kubernetes' && type !== 'openstack') throw DiscoverErrors.UnknownType(type);
  const given = parseFlags(type, rest);
  if (given.help) {
    io.stdout(flagHelp(type));
    return 0;
  }
  if (given.version) {
    io.stdout(`gimbal discover ${type} ${VERSION}\n`);
    return 0;
  }
  checkFlags(type, given);
  refuseSecretsInEnvironment(io.env);
  return discover(type, given, io);
}

const DISCOVER_HELP = `Usage: gimbal discover TYPE [flags]

Runs a discoverer until it is stopped: it copies the Services and endpoints of a remote cluster or cloud. The operator runs
one for each DiscoveryBackend; by hand it is for tests.

  gimbal discover kubernetes --help   flags for a remote Kubernetes cluster
  gimbal discover openstack --help    flags for load balancers of OpenStack
`;

async function discover(type: BackendType, given: Given, io: DiscoverIo): Promise<number> {
  const { signal } = io;
  const clock = io.clock ?? systemClock;
  const backend = given['backend-name'] ?? '';
  const redactor = createRedactor();
  const logger = createLogger({
    clock,
    redactor,
    format: given['log-format'] === 'text' ? 'text' : 'json',
    level: given.debug ? 'debug' : 'info',
    write: io.stderr,
  }).with({ backend });
  const warning = nameWarning(backend);
  if (warning !== undefined) logger.warn(warning);
  const metrics = createMetrics({ backend, type, version: VERSION, clock });
  const connection = await io.connect({
    env: io.env,
    ...(given['gimbal-kubecfg-file'] !== undefined && { kubeconfig: given['gimbal-kubecfg-file'] }),
    ...(io.clock && { clock: io.clock }),
  });
  const client = createClient({ transport: connection, userAgent: `gimbal-discoverer/${VERSION}`, clock, logger });
  const namespace = given['backend-namespace'];
  const isElected = given['leader-elect'] ?? namespace !== undefined;
  const name = given.backend ?? backend;
  const settings = settingsOf(given);
  const discoverer = createDiscoverer({
    backend,
    client,
    remote: await remoteOf(type, given, { io, clock, random: Math.random, logger, redactor, metrics, settings }),
    clock,
    random: Math.random,
    logger,
    version: VERSION,
    identity: io.identity,
    metrics,
    redactor,
    settings,
    credentials: given['credentials-id'],
    ...(isElected && {
      lease: { namespace: namespace ?? connection.namespace, name: `gimbal-discoverer-${backend}` },
    }),
    ...(namespace !== undefined && {
      status: { kind: kindOf(given['backend-kind']), ref: { namespace, name } },
    }),
  });
  const server = await serveHealth({
    address: listenAddress(given, io.env),
    clock,
    signal,
    logger,
    metrics: metrics.registry,
    probes: { readiness: { synced: () => discoverer.isReady || 'the first comparison is not complete' } },
  });
  const healthPort = given['health-port'] ?? (type === 'openstack' && io.env['POD_IP'] ? HEALTH_PORT : undefined);
  const cloudHealth =
    healthPort === undefined
      ? undefined
      : await serveHealth({
          address: listenAddress({ ...given, 'prometheus-listen-address': healthPort }, io.env),
          clock,
          signal,
          logger,
          probes: { liveness: { cloud: () => discoverer.isLive || 'the cloud does not answer' } },
        });
  if (cloudHealth !== undefined) logger.info('serving the health of the cloud', { health: cloudHealth.address });
  logger.info('discovering', { type, version: VERSION, address: server.address });
  try {
    await discoverer.run(signal);
  } catch (error) {
    logger.error('the discoverer ended', { error });
    io.stderr(`error: ${reasonOf(error)}\n`);
    return 1;
  } finally {
    await client.close();
  }
  await Promise.all([server.closed, cloudHealth?.closed]);
  return 0;
}

/** As Gimbal's own discoverer of clouds has it. */
const HEALTH_PORT = 8000;

interface Surroundings {
  readonly io: DiscoverIo;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly metrics: DiscovererMetrics;
  readonly settings: DiscovererSettings;
}

async function remoteOf(type: BackendType, given: Given, around: Surroundings): Promise<RemoteSide<never>> {
  if (type === 'kubernetes') return clusterOf(given, around);
  // Loaded when it is used: a discoverer of clusters has no use for it.
  const { cloudOf } = await import('../openstack/open.ts');
  return cloudOf(given, around);
}

function clusterOf(given: Given, around: Surroundings): RemoteSide<never> {
  const { clock, random, logger, settings } = around;
  return createKubernetesSource({
    client: () => connectCluster(given, around),
    backend: given['backend-name'] ?? '',
    namespaces: { include: given.namespaces ?? [], exclude: given['exclude-namespaces'] ?? ['kube-system'] },
    writeEndpoints: settings.writeEndpoints,
    expectIdentity: given['expect-identity'],
    clock,
    random,
    logger,
  });
}

async function connectCluster(given: Given, { io, clock, logger, metrics }: Surroundings): Promise<Client> {
  const file = given['discover-kubecfg-file'];
  const transport = await connectRemote({
    files: io.files,
    place: file === undefined ? { folder: given['credentials-dir'] ?? '' } : { file },
    endpoint: given.endpoint,
    clock,
    logger,
  });
  return createClient({
    transport: measuredTransport(transport, clock, metrics.called),
    userAgent: `gimbal-discoverer/${VERSION}`,
    clock,
    logger,
  });
}

function settingsOf(given: Given): DiscovererSettings {
  return {
    threads: Math.max(1, given['num-threads'] ?? DEFAULT_SETTINGS.threads),
    qps: given['gimbal-client-qps'] || DEFAULT_SETTINGS.qps,
    burst: given['gimbal-client-burst'] || DEFAULT_SETTINGS.burst,
    resyncMs: given['resync-interval'] === 0 ? NEVER_MS : (given['resync-interval'] ?? DEFAULT_SETTINGS.resyncMs),
    writeEndpoints: given['write-endpoints'] ?? DEFAULT_SETTINGS.writeEndpoints,
    createNamespaces: given['create-namespaces'] ?? DEFAULT_SETTINGS.createNamespaces,
  };
}

/** Only where it lives: the schema is the operator's business. */
function kindOf(name = 'DiscoveryBackend'): Kind<UnknownObject> {
  const group = name === 'Discovery' ? CONTOUR_GROUP : GROUP;
  const plural = name === 'Discovery' ? 'discoveries' : `${name.toLowerCase()}s`;
  return externalKind({ group, version: KIND_VERSION, kind: name, plural, scope: 'Namespaced', hasStatus: true });
}

function listenAddress(given: Given, env: DiscoverIo['env']): string {
  const host = given['bind-address'] ?? env['POD_IP'] ?? '';
  const port = given['prometheus-listen-address'] ?? 8080;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function refuseSecretsInEnvironment(env: DiscoverIo['env']): void {
  for (const name of ['OS_PASSWORD', 'OS_APPLICATION_CREDENTIAL_SECRET', 'OS_TOKEN', 'OS_AUTH_TOKEN']) {
    if (env[name]) throw DiscoverErrors.SecretInEnvironment(name);
  }
}

/** As long as a timer can be. */
const NEVER_MS = 2 ** 31 - 1;
