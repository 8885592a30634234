// The operator dies between any two writes, during an installation and during an upgrade: the next one arrives where it
// would have arrived, and the types and their data were never gone.
// On the embedded server only: dozens of clusters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition, Deployment } from '@capstan/kube';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  faultyTransport,
  mortalClock,
  startIncarnation,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { crd, fakeRegistry, meta, operatorWith, provider, REGISTRY, ready, revisionName, SYSTEM } from './fixtures.ts';

const image = (version: string) => `${REGISTRY}/team/provider-example:${version}`;

function packages() {
  const registry = fakeRegistry();
  registry.push(image('v1'), [meta('Provider'), crd('Bucket')]);
  const digest = registry.push(image('v2'), [meta('Provider', {}, { annotations: { v: '2' } }), crd('Bucket')]);
  return { registry, second: revisionName('example', digest) };
}

/** Runs the program until it has rested, or has died after so many writes. */
async function live(
  world: TestCluster,
  clock: VirtualClock,
  registry: ReturnType<typeof fakeRegistry>,
  writes: number | undefined,
): Promise<boolean> {
  const random = createRandom(7);
  const life = mortalClock(clock);
  const transport = faultyTransport(world.transport(), { random, clock: life, schedule: {} });
  const operators = [operatorWith({ registry, settings: { now: () => clock.now() } })];
  const { runtime, stop } = startIncarnation({ operators, transport, clock: life, random });
  if (writes !== undefined) transport.crashAfterWrites(writes);
  const isResting = () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
  await clock.settle();
  await clock.runUntilIdle(120_000, () => transport.dead || isResting());
  // Keys are made in the thread pool, which no virtual clock sees.
  for (let turn = 0; turn < 1000 && !transport.dead && !isResting(); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await clock.runUntilIdle(1000, () => transport.dead || isResting());
  }
  const hasDied = transport.dead;
  if (hasDied) life.kill();
  else await stop();
  return hasDied;
}

async function after(crashes: readonly number[]) {
  const { registry, second } = packages();
  const clock = createVirtualClock();
  const world = await createTestCluster({ clock, random: createRandom(1), operators: [operatorWith({ registry })] });
  const { client } = world;
  let died = 0;
  const run = async () => {
    for (const writes of crashes) if (await live(world, clock, registry, writes)) died++;
    await live(world, clock, registry, undefined);
    const { items } = await client.list(Deployment, { namespace: SYSTEM });
    for (const deployment of items) await ready(client, deployment);
    await live(world, clock, registry, undefined);
  };
  await client.create(...provider('example', { package: image('v1') }));
  await run();
  const { uid } = (await client.get(CustomResourceDefinition, { name: 'buckets.example.org' })).metadata;
  await client.patch(Provider, { name: 'example' }, 'merge', { spec: { package: image('v2') } });
  await run();
  const deployments = (await client.list(Deployment, { namespace: SYSTEM })).items;
  const revisions = (await client.list(ProviderRevision, {})).items;
  const bucket = await client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
  const { status } = await client.get(Provider, { name: 'example' });
  await world.close();
  assert.equal(bucket.metadata.uid, uid, 'the type was made anew');
  return {
    died,
    deployments: deployments.map(({ metadata }) => metadata.name),
    isSecond: deployments.every(({ metadata }) => metadata.name === second),
    revisions: revisions.map(({ spec }) => `${spec.revision} ${spec.desiredState}`).toSorted(),
    health: status?.conditions?.find(({ type }) => type === 'Healthy')?.status,
  };
}

test('whenever it dies, the end is the same', { timeout: 240_000 }, async () => {
  const { died: _none, ...expected } = await after([]);
  assert.deepEqual([expected.isSecond, expected.health], [true, 'True']);
  assert.deepEqual(expected.revisions, ['1 Inactive', '2 Active']);
  let died = 0;
  for (let writes = 1; writes <= 26; writes += 2) {
    const { died: times, ...found } = await after([writes]);
    died += times;
    assert.deepEqual(found, expected, `after ${writes} writes`);
  }
  assert.ok(died >= 13, `it died only ${died} times`);
});
