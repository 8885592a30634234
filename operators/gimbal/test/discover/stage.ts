// Two clusters on one virtual clock: the services of the remote one are discovered into the local one.
import {
  type Client,
  createClient,
  EndpointSlice,
  externalKind,
  Namespace,
  Service,
  silentLogger,
  type Transport,
  type UnknownObject,
} from '@capstan/kube';
import { operator, type Registry } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  type RecordingTransport,
  recordingTransport,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import {
  createDiscoverer,
  DEFAULT_SETTINGS,
  type Discoverer,
  type DiscovererSettings,
} from '../../src/discover/discoverer.ts';
import { createKubernetesSource } from '../../src/discover/kubernetes/source.ts';
import type { NamespaceFilter } from '../../src/discover/mirror/namespaces.ts';
import { createMetrics, type DiscovererMetrics } from '../../src/discover/report/metrics.ts';
import type { DiscoveryStatus } from '../../src/discover/report/status.ts';
import { DiscoveryBackend } from '../../src/kinds/index.ts';

export interface DiscoverStage {
  readonly clock: VirtualClock;
  readonly local: TestCluster;
  readonly remote: TestCluster;
  start(options?: StartOptions): Running;
  /** Lets everything come to rest. */
  settle(ms?: number): Promise<void>;
  end(): Promise<void>;
}

export interface StartOptions {
  backend?: string;
  remote?: TestCluster;
  /** Between the discoverer and a cluster. */
  remoteTransport?: (inner: Transport) => Transport;
  localTransport?: (inner: Transport) => Transport;
  namespaces?: NamespaceFilter;
  settings?: Partial<DiscovererSettings>;
  expectIdentity?: string;
  /** Reports in the status of the DiscoveryBackend `gimbal/<backend>`. */
  status?: boolean;
  lease?: boolean;
  identity?: string;
}

export interface Running {
  readonly discoverer: Discoverer;
  readonly metrics: DiscovererMetrics;
  /** The requests that it sent to the local cluster. */
  readonly sent: RecordingTransport;
  /** The requests that it sent to the remote cluster. */
  readonly asked: RecordingTransport;
  stop(): Promise<void>;
}

/** Only where it lives: the discoverer knows no more of it. */
export const Backend = externalKind<UnknownObject>({
  group: 'gimbal.heptio.com',
  version: 'v1',
  kind: 'DiscoveryBackend',
  plural: 'discoverybackends',
  scope: 'Namespaced',
});
const kinds = operator({ name: 'gimbal', kinds: [DiscoveryBackend], reconcilers: [] });

export async function createDiscoverStage(): Promise<DiscoverStage> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const local = await createTestCluster({ clock, random: random.fork('local'), operators: [kinds] });
  const remote = await createTestCluster({ clock, random: random.fork('remote') });
  const running = new Set<Running>();
  const stage: DiscoverStage = {
    clock,
    local,
    remote,
    start(options = {}) {
      const { backend = 'east' } = options;
      const asked = recordingTransport((options.remoteTransport ?? same)((options.remote ?? remote).transport()));
      const sent = recordingTransport((options.localTransport ?? same)(local.transport()));
      const common = { clock, random, logger: silentLogger };
      const settings = { ...DEFAULT_SETTINGS, ...options.settings };
      const metrics = createMetrics({ backend, type: 'kubernetes', version: 'test', clock });
      const source = createKubernetesSource({
        ...common,
        client: createClient({ ...common, transport: asked }),
        backend,
        namespaces: options.namespaces ?? { include: [], exclude: ['kube-system'] },
        writeEndpoints: settings.writeEndpoints,
        expectIdentity: options.expectIdentity,
      });
      const discoverer = createDiscoverer({
        ...common,
        backend,
        remote: source,
        client: createClient({ ...common, transport: sent }),
        version: 'test',
        identity: options.identity ?? 'one',
        metrics,
        settings,
        ...(options.lease && { lease: { namespace: 'default', name: `gimbal-discoverer-${backend}` } }),
        ...(options.status && {
          status: { kind: Backend, ref: { namespace: 'default', name: backend } },
        }),
      });
      const stopping = new AbortController();
      const done = discoverer.run(stopping.signal);
      const started: Running = {
        discoverer,
        metrics,
        sent,
        asked,
        async stop() {
          running.delete(started);
          stopping.abort();
          await clock.settle();
          await done;
        },
      };
      running.add(started);
      return started;
    },
    async settle(ms = 3_000) {
      await clock.advance(ms);
    },
    async end() {
      for (const each of running) await each.stop();
      await local.close();
      await remote.close();
    },
  };
  return stage;
}

const same = (inner: Transport) => inner;

/** Runs a test on a stage and takes it down afterwards. */
export async function staged(test: (stage: DiscoverStage) => Promise<void>): Promise<void> {
  const stage = await createDiscoverStage();
  try {
    await test(stage);
  } finally {
    await stage.end();
  }
}

export async function namespace(client: Client, ...names: string[]): Promise<void> {
  for (const name of names) {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
}

/** A Service with one slice, or none, in the remote cluster. */
export async function remoteService(
  client: Client,
  key: string,
  addresses: readonly string[] = [],
  parts: { labels?: Record<string, string>; spec?: Partial<NonNullable<Service['spec']>> } = {},
): Promise<void> {
  const [ns = '', name = ''] = key.split('/');
  const metadata = { namespace: ns, name, ...(parts.labels && { labels: parts.labels }) };
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ name: 'http', port: 80 }], ...parts.spec },
  });
  if (addresses.length > 0) await remoteSlice(client, key, `${name}-1`, addresses);
}

export async function remoteSlice(
  client: Client,
  key: string,
  slice: string,
  addresses: readonly string[],
): Promise<void> {
  const [ns = '', name = ''] = key.split('/');
  await client.create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: ns, name: slice, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
}

/** `namespace/name` of all discovered Services, in order. */
export async function discovered(client: Client, backend = 'east'): Promise<string[]> {
  const { items } = await client.list(Service, { labelSelector: `gimbal.heptio.com/backend=${backend}` });
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted();
}

/** The addresses of one discovered Service, in order. */
export async function addressesOf(client: Client, key: string): Promise<string[]> {
  const [ns = '', name = ''] = key.split('/');
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const { items } = await client.list(EndpointSlice, { namespace: ns, labelSelector });
  return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses)).toSorted();
}

export async function backendObject(client: Client, name = 'east'): Promise<void> {
  const object = {
    apiVersion: 'gimbal.heptio.com/v1',
    kind: 'DiscoveryBackend',
    metadata: { namespace: 'default', name },
    spec: { type: 'kubernetes', secret: 'remote' },
  };
  await client.create(Backend, object);
}

export async function discoveryStatus(client: Client, name = 'east'): Promise<DiscoveryStatus | undefined> {
  const found = await client.get(Backend, { namespace: 'default', name });
  return (found['status'] as { discovery?: DiscoveryStatus } | undefined)?.discovery;
}

/** The value of a metric's series with these labels. */
export function metric(
  metrics: { registry: Registry },
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const { body } = metrics.registry.expose('text/plain');
  for (const line of body.split('\n')) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue;
    if (Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`))) {
      return Number(line.slice(line.lastIndexOf(' ') + 1));
    }
  }
  return undefined;
}
