import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lease, Namespace } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { Gateway, type GatewayStatus } from '../kinds/index.ts';
import { createGatewayWriter } from './gateway-report.ts';
import { createHeartbeat } from './heartbeat.ts';

const namespace = 'submariner-operator';

test('the Gateway of a dead node goes, that of one that is alive stays', async () => {
  const clock = createVirtualClock();
  const kinds = operator({ name: 'kinds', kinds: [Gateway], reconcilers: [] });
  const cluster = await createTestCluster({ clock, random: createRandom(1), operators: [kinds] });
  try {
    const { client } = cluster;
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const gateway = async (name: string, haStatus: GatewayStatus['haStatus']) => {
      await createGatewayWriter(client, { namespace, name }).write({ haStatus });
    };
    const names = async () => (await client.list(Gateway, { namespace })).items.map(({ metadata }) => metadata.name);
    const beatOf = (node: string) => createHeartbeat({ client, namespace, node, clock });
    const [own, alive, dead] = [beatOf('own'), beatOf('alive'), beatOf('dead')];
    await gateway('own', 'active');
    await gateway('alive', 'passive');
    await gateway('dead', 'passive');
    await gateway('before', 'active');
    await dead.beat(false);
    for (let round = 0; round < 3; round++) {
      await alive.beat(false);
      await own.beat(true);
      // The one that was active before this one goes at once: there is one active gateway.
      assert.deepEqual(await names(), ['alive', 'dead', 'own']);
      await clock.advance(10_000);
    }
    await alive.beat(false);
    await own.beat(true);
    assert.deepEqual(await names(), ['alive', 'own']);
    await own.end();
    const leases = (await client.list(Lease, { namespace })).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(leases, ['submariner-gateway-alive']);
  } finally {
    await cluster.close();
  }
});

test('a report that arrives after another gateway took over does not bring back the Gateway of its node', async () => {
  const clock = createVirtualClock();
  const kinds = operator({ name: 'kinds', kinds: [Gateway], reconcilers: [] });
  const cluster = await createTestCluster({ clock, random: createRandom(1), operators: [kinds] });
  try {
    const { client } = cluster;
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const names = async () => (await client.list(Gateway, { namespace })).items.map(({ metadata }) => metadata.name);
    const [late, next] = ['late', 'next'].map((name) => createGatewayWriter(client, { namespace, name }));
    assert.ok(late && next);
    await late.write({ haStatus: 'active' });
    await next.write({ haStatus: 'active' });
    await createHeartbeat({ client, namespace, node: 'next', clock }).beat(true);
    assert.deepEqual(await names(), ['next']);
    await late.write({ haStatus: 'active', statusFailure: 'sent before it was cut off' });
    assert.deepEqual(await names(), ['next']);
    await late.write({ haStatus: 'passive' });
    assert.deepEqual(await names(), ['late', 'next']);
  } finally {
    await cluster.close();
  }
});
