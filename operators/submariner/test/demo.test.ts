// The demonstration: a broker and two members on one server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startCluster } from '@capstan/apiserver';
import { createClient, Node, Secret, systemClock } from '@capstan/kube';
import { parse } from 'yaml';
import prepare from '../demo/prepare.ts';
import { BROKER_NAMESPACE, CablePolicies, MEMBER_NAMESPACE, Submariner } from '../src/kinds/index.ts';
import { readPolicy } from '../src/policy/read-policy.ts';

test('the demonstration: two clusters join the first one, and keep their tokens the next time, also at another address', async () => {
  const names = ['capstan', 'east', 'west'];
  const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: names });
  const clients = cluster.clusters.map(({ server }) => createClient({ transport: server.transport() }));
  try {
    const clusters = new Map(
      cluster.clusters.flatMap(({ name, url }, index) => {
        const client = clients[index];
        return client === undefined ? [] : [[name, { client, url, ca: cluster.ca }] as const];
      }),
    );
    for (const client of clients)
      await client.create(Node, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'capstan' } });
    const { signal } = new AbortController();
    await prepare({ clusters, signal });
    const [broker, east] = clients;
    assert.ok(broker && east);
    const policies = (await broker.list(CablePolicies, { namespace: BROKER_NAMESPACE })).items;
    assert.deepEqual(
      policies.map(({ metadata }) => metadata.name),
      ['default'],
    );
    const { spec } = await east.get(Submariner, { namespace: MEMBER_NAMESPACE, name: 'submariner' });
    assert.deepEqual(
      [spec.clusterID, spec.clusterLabels, spec.clusterCIDR],
      ['east', { location: 'cloud' }, '10.11.0.0/16'],
    );
    assert.equal((await east.get(Node, { name: 'capstan' })).metadata.labels?.['submariner.io/gateway'], 'true');
    const secret = { namespace: MEMBER_NAMESPACE, name: 'submariner-broker-secret' };
    const before = await east.get(Secret, secret);
    await prepare({ clusters, signal });
    assert.equal((await east.get(Secret, secret)).metadata.resourceVersion, before.metadata.resourceVersion);
    const url = 'https://localhost:1';
    const moved = new Map([...clusters].map(([name, one]) => [name, { ...one, url }]));
    await prepare({ clusters: moved, signal });
    const { spec: next } = await east.get(Submariner, { namespace: MEMBER_NAMESPACE, name: 'submariner' });
    assert.deepEqual([next.brokerK8sApiServer, next.clusterID], [url, 'east']);
    assert.equal((await east.get(Secret, secret)).metadata.resourceVersion, before.metadata.resourceVersion);
    const policy = parse(readFileSync(new URL('../demo/policies.yaml', import.meta.url), 'utf8')) as CablePolicies;
    assert.deepEqual(readPolicy(policy).problems, []);
  } finally {
    for (const client of clients) await client.close();
    await cluster.close();
  }
});
