// A label that changes on one cluster, until every gateway of the set has moved its cable: members with whole gateways and
// simulated cables, all in one process, with one broker. The cables move to a driver without encryption, for which both ends
// must have resolved it: the longest way that a change can take.
import { type Cluster as EmbeddedCluster, startCluster } from '@capstan/apiserver';
import {
  type Client,
  CustomResourceDefinition,
  createClient,
  Namespace,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createRuntime } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, Submariner } from '@capstan/submariner';
import {
  type CableEngine,
  createCell,
  createGatewayOperator,
  createSimulatedEngine,
  localEndpoint,
} from '@capstan/submariner/gateway';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';

const SIZES = { full: { members: 20, rounds: 6 }, tiny: { members: 3, rounds: 1 } };
const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];
const MEMBER = 'submariner-operator';
const BROKER = 'submariner-k8s-broker';
const DRIVERS = ['ipsec', 'vxlan'] as const;

export const labels: Part = {
  name: 'labels',
  summary: 'a label change of one cluster, until every member has moved its cable',
  async measure(scale) {
    const { members: count, rounds } = SIZES[scale];
    const names = Array.from({ length: count }, (_, index) => `m${index}`);
    const clusters = ['broker', ...names];
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters });
    const stopping = new AbortController();
    const running: Promise<void>[] = [];
    const clients = new Map<string, Client>();
    const engines = new Map<string, CableEngine>();
    try {
      for (const { name, server } of cluster.clusters) {
        const client = createClient({ transport: server.transport() });
        clients.set(name, client);
        for (const kind of KINDS)
          await client.apply(CustomResourceDefinition, kind.crd(), { fieldManager: 'bench', force: true });
        const namespace = name === 'broker' ? BROKER : MEMBER;
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      }
      await createPolicies(clientOf(clients, 'broker'));
      for (const [index, name] of names.entries()) {
        const engine = createSimulatedEngine(DRIVERS);
        engines.set(name, engine);
        await clientOf(clients, name).create(Cluster, {
          apiVersion: Cluster.apiVersion,
          kind: 'Cluster',
          metadata: { namespace: MEMBER, name },
          spec: { cluster_id: name, service_cidr: [], cluster_cidr: [], global_cidr: [] },
        });
        running.push(run(cluster, name, `192.0.2.${index + 1}`, engine, stopping.signal));
      }
      await cablesOf(engines, names, 'ipsec', 120_000);
      const times: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const isOpen = round % 2 === 0;
        const change = { metadata: { labels: { site: isOpen ? 'private' : null } } };
        const begin = performance.now();
        await clientOf(clients, 'm0').patch(Cluster, { namespace: MEMBER, name: 'm0' }, 'merge', change);
        await cablesOf(engines, names, isOpen ? 'vxlan' : 'ipsec', 60_000);
        times.push(performance.now() - begin);
      }
      return [
        result({
          name: `a label change is in force at all ${count} members`,
          unit: 'ms',
          rounds: times,
          ...(scale === 'full' && { below: 1000 }),
          note: 'embedded clusters and gateways with simulated cables in one process; from ipsec to vxlan and back',
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

function clientOf(clients: ReadonlyMap<string, Client>, name: string): Client {
  const found = clients.get(name);
  if (found === undefined) throw new Error(`there is no cluster ${name}`);
  return found;
}

async function createPolicies(broker: Client): Promise<void> {
  const rules = {
    default: { cableDriver: { name: 'ipsec' } },
    'private-sites': { leftClusterSelector: { site: 'private' }, cableDriver: { name: 'vxlan' } },
  };
  for (const [name, rule] of Object.entries(rules))
    await broker.create(CablePolicies, {
      apiVersion: CablePolicies.apiVersion,
      kind: CablePolicies.kind,
      metadata: { namespace: BROKER, name },
      spec: [rule],
    });
}

async function run(
  { clusters }: EmbeddedCluster,
  name: string,
  privateIP: string,
  engine: CableEngine,
  signal: AbortSignal,
): Promise<void> {
  const local = { privateIP, subnets: [], sourceIP: undefined };
  const options = createCell<Readonly<Record<string, string>>>('driver-options', {});
  const gateway = { clusterID: name, namespace: MEMBER, local, preferredServer: false, options: options.source };
  const started = new Map(DRIVERS.map((driver) => [driver, {}]));
  const more = { hostname: name, publicIP: '', natEnabled: false, defaultDriver: 'ipsec', discoveryPort: 0 };
  const endpoint = createCell('own-endpoint', localEndpoint(gateway, started, more));
  const program = createGatewayOperator({
    gateway,
    brokerNamespace: BROKER,
    engine,
    endpoint: endpoint.source,
    logger: silentLogger,
    onOpen: () => {},
    onPlans: () => {},
  });
  const runtime = createRuntime({
    operators: [program],
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
  });
  const connected = (wanted: string) => {
    const found = clusters.find((each) => each.name === wanted);
    if (found === undefined) throw new Error(`there is no cluster ${wanted}`);
    return createClient({ transport: found.server.transport() });
  };
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: connected(name), namespace: MEMBER });
  runtime.addWorld({ name: 'broker', role: 'broker', client: connected('broker'), namespace: BROKER });
  await runtime.run(signal);
}

/** Waits until both ends of every pair of the first member have the driver. */
async function cablesOf(
  engines: ReadonlyMap<string, CableEngine>,
  names: readonly string[],
  driver: string,
  withinMs: number,
): Promise<void> {
  const [first = '', ...others] = names;
  const until = performance.now() + withinMs;
  const uses = (member: string, count: number, pattern: RegExp) => {
    const reports = [...(engines.get(member)?.reports() ?? [])].filter(([cable]) => pattern.test(cable));
    return reports.length === count && reports.every(([, report]) => report.driver === driver);
  };
  const isDone = () =>
    uses(first, others.length, /^/) && others.every((member) => uses(member, 1, new RegExp(`-${first}-`)));
  while (!isDone()) {
    if (performance.now() > until) throw new Error(`not all members of ${first} use ${driver}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
