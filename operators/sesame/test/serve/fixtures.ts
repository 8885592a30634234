import { randomBytes } from 'node:crypto';
import {
  ClusterRole,
  ClusterRoleBinding,
  createClient,
  type Logger,
  Namespace,
  Role,
  RoleBinding,
  silentLogger,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import {
  createTestCluster,
  freePorts,
  objectOf,
  type TestCluster,
  type WatchedAccount,
  watchedAccount,
} from '@capstan/testing';
import { defaultConfiguration, parseServeFlags } from '../../src/configuration/index.ts';
import { clusterRole, clusterRoleBinding, ownRole, ownRoleBinding } from '../../src/deployment/rbac.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { type DetailedCondition, SesameConfiguration } from '../../src/kinds/index.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { type RunServeOptions, runServe } from '../../src/program/serve.ts';

/** A name that no default knows: the same manifests behave alike in every namespace. */
export const NAMESPACE = `sesame-${randomBytes(4).toString('hex')}`;
export const ref = (name = 'sesame') => ({ namespace: NAMESPACE, name });

/** An object in a namespace that is not Sesame's own. */
export const inDefault = (name: string) => ({ namespace: 'default', name });

export const configuration = (spec: object = {}, name = 'sesame'): SesameConfiguration => ({
  apiVersion: SesameConfiguration.apiVersion,
  kind: SesameConfiguration.kind,
  metadata: ref(name),
  spec,
});

export interface Replica {
  readonly ports: { xds: number; health: number; debug: number };
  readonly ended: Promise<number>;
  readonly log: string[];
  stop(): Promise<void>;
  get(path: string, port?: number): Promise<{ status: number; body: string } | undefined>;
}

export interface ServeStage {
  readonly cluster: TestCluster;
  start(
    options?: Partial<RunServeOptions> & {
      flags?: string[];
      policy?: 'stop' | 'keep-last-good';
      name?: string;
      /** Stands between the replica and the API server. */
      between?(transport: Transport): Transport;
      /** The ports of an earlier replica. */
      ports?: Replica['ports'];
    },
  ): Promise<Replica>;
  condition(type: string, name?: string): Promise<DetailedCondition | undefined>;
  /** Waits for a condition of the resource. */
  becomes(type: string, status: string, generation?: number): Promise<DetailedCondition>;
  apply(spec: object): Promise<number>;
}

const routes = operator({
  name: 'routes',
  kinds: [SesameConfiguration, HTTPProxy, TLSCertificateDelegation, ExtensionService],
  reconcilers: [],
});

/** The account of an instance in this namespace, with exactly the roles that a SesameDeployment gets. */
async function grantAccount({ client }: TestCluster) {
  const instance = {
    name: 'test',
    namespace: NAMESPACE,
    spec: {},
    configuration: defaultConfiguration(),
  };
  await client.create(ClusterRole, objectOf<ClusterRole>(ClusterRole, clusterRole(instance)));
  await client.create(
    ClusterRoleBinding,
    objectOf<ClusterRoleBinding>(ClusterRoleBinding, clusterRoleBinding(instance)),
  );
  await client.create(Role, objectOf<Role>(Role, ownRole(instance)));
  await client.create(RoleBinding, objectOf<RoleBinding>(RoleBinding, ownRoleBinding(instance)));
  return { name: `system:serviceaccount:${NAMESPACE}:sesame-test`, groups: ['system:authenticated'] };
}

/** A real server in this process, on the real clock: sockets and streams are real ones, on the loopback interface. */
export async function served(
  check: (stage: ServeStage) => Promise<void>,
  { isDenied = false }: { isDenied?: boolean } = {},
): Promise<void> {
  const cluster = await createTestCluster({ clock: systemClock, random: Math.random, operators: [routes], rbac: true });
  await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const account = await grantAccount(cluster);
  const accounts: WatchedAccount[] = [];
  const replicas: Replica[] = [];
  const conditionOf = async (type: string, name = 'sesame') => {
    const object = await cluster.client.find(SesameConfiguration, ref(name));
    return object?.status?.conditions?.find((condition) => condition.type === type);
  };
  const stage: ServeStage = {
    cluster,
    async start({
      flags = [],
      policy = 'stop',
      name = 'sesame',
      between = (to: Transport) => to,
      ports,
      ...more
    } = {}) {
      const [xds = 0, health = 0, debug = 0] = ports ? [ports.xds, ports.health, ports.debug] : await freePorts(3);
      const watched = watchedAccount(cluster.transport(account));
      accounts.push(watched);
      const replica = startReplica(
        between(watched.transport),
        { xds, health, debug },
        flags,
        policy,
        name,
        replicas.length,
        more,
      );
      replicas.push(replica);
      return replica;
    },
    condition: conditionOf,
    becomes: (type, status, generation) =>
      until(async () => {
        const condition = await conditionOf(type);
        const isIt =
          condition?.status === status && (generation === undefined || condition.observedGeneration === generation);
        return isIt ? condition : undefined;
      }, `${type}=${status}`),
    async apply(spec) {
      const existing = await cluster.client.find(SesameConfiguration, ref());
      const object =
        existing === undefined
          ? await cluster.client.create(SesameConfiguration, configuration(spec))
          : await cluster.client.patch(SesameConfiguration, ref(), 'json', [
              { op: 'replace', path: '/spec', value: spec },
            ]);
      return object.metadata.generation ?? 0;
    },
  };
  try {
    await check(stage);
  } finally {
    for (const replica of replicas) await replica.stop();
    await cluster.close();
  }
  if (!isDenied) for (const { check: checkDenied } of accounts) checkDenied();
}

function startReplica(
  transport: Transport,
  ports: Replica['ports'],
  more: string[],
  invalidPolicy: 'stop' | 'keep-last-good',
  name: string,
  index: number,
  options: Partial<RunServeOptions>,
): Replica {
  const flags = parseServeFlags([
    '--insecure',
    '--xds-address=127.0.0.1',
    '--debug-http-address=127.0.0.1',
    `--debug-http-port=${ports.debug}`,
    '--leader-election-retry-period=100ms',
    ...more,
  ]);
  const stopping = new AbortController();
  const log: string[] = [];
  const client = createClient({
    transport,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
  });
  const run = async () => {
    try {
      return await runServe({
        choice: { namespace: NAMESPACE, name, flags: flags.fields, watchNamespaces: undefined, invalidPolicy },
        pod: `pod-${index}`,
        identity: `pod-${index}`,
        client,
        clock: systemClock,
        random: Math.random,
        logger: recorded(log),
        signal: stopping.signal,
        setLogLevel: () => {},
        errorMode: 'wait',
        changeMode: 'apply',
        ...options,
      });
    } finally {
      await client.close();
    }
  };
  const ended = run();
  return {
    ports,
    ended,
    log,
    async stop() {
      stopping.abort();
      await ended;
    },
    async get(path, port = ports.health) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}${path}`);
        return { status: response.status, body: await response.text() };
      } catch {
        return undefined;
      }
    },
  };
}

function recorded(lines: string[]): Logger {
  const at = (level: string) => (message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const logger: Logger = {
    debug: () => {},
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: () => logger,
  };
  return logger;
}

/** Polls until there is a value; fails with the description of the awaited value. */
export async function until<V>(check: () => Promise<V | undefined>, what: string, limitMs = 15_000): Promise<V> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The configuration of a replica's own servers. */
export const servers = ({ ports }: Replica, more: object = {}) => ({
  xdsServer: { port: ports.xds },
  health: { address: '127.0.0.1', port: ports.health },
  metrics: { address: '127.0.0.1', port: ports.health },
  ...more,
});
