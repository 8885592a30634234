// The drain of a backend that thousands of routes lead to, and the return: how long until the last weight is written, and how
// many writes that takes.
import { createGimbal, DiscoveryBackend, routeKinds } from '@capstan/gimbal';
import { type Client, CustomResourceDefinition, type Kind, type KubeObject, Secret, Service } from '@capstan/kube';
import { recordingTransport } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';
import { runOperator } from '../running-operator.ts';
import { createCluster } from '../runtime/cluster.ts';

const SIZES = { full: { routes: 2000, rounds: 3 }, tiny: { routes: 20, rounds: 1 } };
const NAMESPACE = 'default';

export const drain: Part = {
  name: 'drain',
  summary: 'a backend with two thousand routes is drained, and takes traffic again',
  async measure(scale) {
    const { routes, rounds } = SIZES[scale];
    const measured = await roundsOf(rounds, () => drainOnce(routes));
    const of = (pick: (round: (typeof measured)[number]) => number) => measured.map(pick);
    const isFull = scale === 'full';
    return [
      result({
        name: `drain of a backend with ${routes} routes`,
        unit: 's',
        rounds: of(({ drainMs }) => drainMs / 1000),
        ...(isFull && { below: 15 }),
      }),
      result({
        name: 'its writes to a route',
        unit: 'writes',
        rounds: of(({ drainWrites }) => drainWrites / routes),
        exactly: 1,
      }),
      result({
        name: `return of a backend with ${routes} routes`,
        unit: 's',
        rounds: of(({ resumeMs }) => resumeMs / 1000),
        ...(isFull && { below: 15 }),
      }),
      result({
        name: 'the return’s writes to a route',
        unit: 'writes',
        rounds: of(({ resumeWrites }) => resumeWrites / routes),
        exactly: 1,
      }),
      result({
        name: 'routes that are not as they were afterwards',
        unit: 'routes',
        rounds: of(({ changed }) => changed),
        exactly: 0,
        note: 'specs compared byte for byte',
      }),
    ];
  },
};

interface Drained {
  readonly drainMs: number;
  readonly drainWrites: number;
  readonly resumeMs: number;
  readonly resumeWrites: number;
  readonly changed: number;
}

async function drainOnce(routes: number): Promise<Drained> {
  // Logins are no part of it.
  const operator = createGimbal({ verify: async () => ({ isGood: true, identity: 'remote' }) });
  const cluster = await createCluster(operator.kinds);
  const HTTPProxy = httpProxy();
  await fill(cluster.client, HTTPProxy, routes);
  const transport = recordingTransport(cluster.server.transport());
  const { rest, stop } = runOperator(operator, transport);
  try {
    await rest();
    const before = await specs(cluster.client, HTTPProxy);
    const go = async (clusterStatus: string, state: string) => {
      transport.clear();
      const ms = await millisecondsOf(async () => {
        await cluster.client.patch(DiscoveryBackend, EAST, 'merge', { spec: { clusterStatus } });
        for (;;) {
          await rest();
          const { status } = await cluster.client.get(DiscoveryBackend, EAST);
          if (status?.maintenance?.state === state) break;
        }
      });
      return { ms, writes: transport.writes.filter((line) => line.includes('/httpproxies/')).length };
    };
    const drained = await go('Maintenance', 'Drained');
    const resumed = await go('Enabled', 'Active');
    const after = await specs(cluster.client, HTTPProxy);
    const changed = [...before].filter(([name, spec]) => after.get(name) !== spec).length;
    return {
      drainMs: drained.ms,
      drainWrites: drained.writes,
      resumeMs: resumed.ms,
      resumeWrites: resumed.writes,
      changed,
    };
  } finally {
    await stop();
    await cluster.close();
  }
}

const EAST = { namespace: NAMESPACE, name: 'east' };

function httpProxy(): Kind {
  const found = routeKinds().find(({ id }) => id === 'http-proxy');
  if (found === undefined) throw new TypeError('there are no HTTPProxies among the kinds of routes');
  return found.kind;
}

async function fill(client: Client, HTTPProxy: Kind, routes: number): Promise<void> {
  const { group, version, kind, plural, scope } = HTTPProxy;
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  for (const backend of ['east', 'west']) {
    const metadata = { namespace: NAMESPACE, name: `${backend}-web`, labels: { 'gimbal.heptio.com/backend': backend } };
    await client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { clusterIP: 'None', ports: [{ port: 80 }] },
    });
  }
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: NAMESPACE, name: 'east' },
    data: { config: 'eA==' },
  });
  const backend = { apiVersion: DiscoveryBackend.apiVersion, kind: 'DiscoveryBackend', metadata: EAST };
  await client.create(DiscoveryBackend, {
    ...backend,
    spec: { type: 'kubernetes', secret: 'east' },
  } as KubeObject);
  for (let index = 0; index < routes; index++) {
    const services = [
      { name: 'east-web', port: 80, ...(index % 2 === 0 && { weight: 70 }) },
      { name: 'west-web', port: 80, ...(index % 2 === 0 && { weight: 30 }) },
    ];
    const spec = { virtualhost: { fqdn: `r${index}.example` }, routes: [{ conditions: [{ prefix: '/' }], services }] };
    const metadata = { namespace: NAMESPACE, name: `r${index}` };
    await client.create(HTTPProxy, { apiVersion: HTTPProxy.apiVersion, kind, metadata, spec } as KubeObject);
  }
}

async function specs(client: Client, HTTPProxy: Kind): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { items } of client.pages(HTTPProxy, { namespace: NAMESPACE }))
    for (const route of items) found.set(route.metadata.name ?? '', JSON.stringify((route as { spec?: unknown }).spec));
  return found;
}
