// A policy that is created on one member, until it is on all others: each member an embedded cluster with a program of its
// own, all in one process, with one broker.
import { type Cluster as EmbeddedCluster, startCluster } from '@capstan/apiserver';
import {
  type Client,
  CustomResourceDefinition,
  createClient,
  Namespace,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createRuntime, operator } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, Submariner } from '@capstan/submariner';
import { createOwnedSync, createPolicySync } from '@capstan/submariner/gateway';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';

const SIZES = { full: { members: 50, rounds: 5 }, tiny: { members: 3, rounds: 1 } };
const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];
const MEMBER = 'submariner-operator';
const BROKER = 'submariner-k8s-broker';

export const members: Part = {
  name: 'members',
  summary: 'a policy from one member to all others',
  async measure(scale) {
    const { members: count, rounds } = SIZES[scale];
    const names = Array.from({ length: count }, (_, index) => `m${index}`);
    const cluster = await startCluster({
      clock: systemClock,
      random: Math.random,
      port: 0,
      clusters: ['broker', ...names],
    });
    const stopping = new AbortController();
    const running: Promise<void>[] = [];
    const clients = new Map<string, Client>();
    try {
      for (const each of cluster.clusters)
        clients.set(each.name, await prepare(each, each.name === 'broker' ? BROKER : MEMBER));
      for (const name of names) running.push(run(cluster, name, stopping.signal));
      const times: number[] = [];
      await spread(clients, names, 'warm-up');
      for (let round = 0; round < rounds; round++) times.push(await spread(clients, names, `policy-${round}`));
      return [
        result({
          name: `a policy created on one member is on all ${count}`,
          unit: 'ms',
          rounds: times,
          ...(scale === 'full' && { below: 2000 }),
          note: 'embedded clusters and programs in one process',
        }),
      ];
    } finally {
      stopping.abort();
      await Promise.allSettled(running);
      for (const client of clients.values()) await client.close();
      await cluster.close();
    }
  },
};

type Server = EmbeddedCluster['clusters'][number];

async function prepare({ server }: Server, namespace: string): Promise<Client> {
  const client = createClient({ transport: server.transport() });
  for (const kind of KINDS)
    await client.apply(CustomResourceDefinition, kind.crd(), { fieldManager: 'bench', force: true });
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  return client;
}

async function run({ clusters }: EmbeddedCluster, name: string, signal: AbortSignal): Promise<void> {
  const places = { clusterID: name, namespace: MEMBER, brokerNamespace: BROKER };
  const reconcilers = [
    ...createPolicySync(places),
    ...createOwnedSync(Cluster, places),
    ...createOwnedSync(Endpoint, places),
  ];
  const program = operator({ name: 'submariner-gateway', kinds: KINDS, reconcilers });
  const runtime = createRuntime({
    operators: [program],
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
  });
  const clientOf = (wanted: string) => {
    const found = clusters.find((each) => each.name === wanted);
    if (found === undefined) throw new Error(`there is no cluster ${wanted}`);
    return createClient({ transport: found.server.transport() });
  };
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: clientOf(name), namespace: MEMBER });
  runtime.addWorld({ name: 'broker', role: 'broker', client: clientOf('broker'), namespace: BROKER });
  await runtime.run(signal);
}

/** Creates a policy on the first member, and waits until every other has it. */
async function spread(clients: ReadonlyMap<string, Client>, names: readonly string[], policy: string): Promise<number> {
  const metadata = { namespace: MEMBER, name: policy };
  const object = {
    apiVersion: CablePolicies.apiVersion,
    kind: CablePolicies.kind,
    metadata,
    spec: [{ cableDriver: { name: 'ipsec' } }],
  };
  const begin = performance.now();
  await clients.get(names[0] ?? '')?.create(CablePolicies, object);
  for (const name of names) {
    while ((await clients.get(name)?.find(CablePolicies, metadata)) === undefined) {
      if (performance.now() - begin > 60_000) throw new Error(`${name} does not have the policy after a minute`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  return performance.now() - begin;
}
