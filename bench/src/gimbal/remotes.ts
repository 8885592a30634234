// Remote clusters full of services, and one into which they are discovered: embedded servers in this process, with nothing else.

import {
  createDiscoverer,
  createKubernetesSource,
  DISCOVERER_DEFAULTS,
  type Discoverer,
} from '@capstan/gimbal/discover';
import { type Client, createClient, EndpointSlice, Namespace, Service, silentLogger, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster, recordingTransport, type TestCluster } from '@capstan/testing';

export interface Size {
  readonly remotes: number;
  readonly services: number;
  readonly endpoints: number;
}

export interface Remotes {
  readonly local: TestCluster;
  readonly remotes: readonly TestCluster[];
  close(): Promise<void>;
}

export const NAMESPACE = 'team';
export const backendOf = (index: number) => `backend-${index}`;
export const serviceOf = (index: number) => `service-${index}`;
export const sliceOf = (index: number) => `${serviceOf(index)}-x7k2p`;

export async function createRemotes({ remotes: count, services, endpoints }: Size): Promise<Remotes> {
  const cluster = (name: string) => createTestCluster({ clock: systemClock, random: createRandom(1).fork(name) });
  const local = await cluster('local');
  const remotes = await Promise.all(Array.from({ length: count }, (_, index) => cluster(backendOf(index))));
  for (const { client } of [local, ...remotes]) await addNamespace(client);
  for (const [remote, { client }] of remotes.entries()) {
    for (let index = 0; index < services; index++) await addService(client, remote, index, endpoints);
  }
  return {
    local,
    remotes,
    async close() {
      for (const each of [local, ...remotes]) await each.close();
    },
  };
}

export async function addNamespace(client: Client): Promise<void> {
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
}

/** A service as a cluster has it: with a selector, labels, and a slice that points to pods. */
export async function addService(client: Client, remote: number, index: number, endpoints: number): Promise<void> {
  const name = serviceOf(index);
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: NAMESPACE, name, labels: { app: name, tier: 'backend' } },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80 }] },
  });
  await client.create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: NAMESPACE, name: sliceOf(index), labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: endpoints }, (_, pod) => endpointOf(remote, index, pod, true)),
  });
}

export function endpointOf(remote: number, index: number, pod: number, ready: boolean) {
  return {
    addresses: [`10.${remote}.${((index * 7 + pod) >> 8) & 255}.${(index * 7 + pod) & 255}`],
    conditions: { ready, serving: ready, terminating: false },
    nodeName: `node-${pod}`,
    targetRef: { kind: 'Pod', namespace: NAMESPACE, name: `${serviceOf(index)}-${pod}` },
  };
}

export interface RunningDiscoverer {
  readonly discoverer: Discoverer;
  readonly writes: readonly string[];
  stop(): Promise<void>;
}

export function startDiscoverer({ local, remotes }: Remotes, index: number): RunningDiscoverer {
  const common = { clock: systemClock, random: Math.random, logger: silentLogger };
  const backend = backendOf(index);
  const remote = remotes[index];
  if (remote === undefined) throw new RangeError(`there is no remote cluster ${index}`);
  const transport = recordingTransport(local.transport());
  const source = createKubernetesSource({
    ...common,
    client: createClient({ ...common, transport: remote.transport() }),
    backend,
    namespaces: { include: [], exclude: ['kube-system'] },
    writeEndpoints: false,
  });
  const discoverer = createDiscoverer({
    ...common,
    backend,
    client: createClient({ ...common, transport }),
    remote: source,
    version: 'bench',
    identity: backend,
    settings: DISCOVERER_DEFAULTS,
  });
  const stopping = new AbortController();
  const done = discoverer.run(stopping.signal);
  return {
    discoverer,
    writes: transport.writes,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
