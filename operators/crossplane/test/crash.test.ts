// The operator dies between any two writes, during an installation and during an upgrade: the next one arrives where it
// would have arrived, and the types and their data were never gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition, Deployment } from '@capstan/kube';
import { createLives, type Lives } from '@capstan/testing';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import {
  crd,
  fakeRegistry,
  meta,
  operatorWith,
  provider,
  REGISTRY,
  ready,
  revisionName,
  SYSTEM,
  startOfStage,
} from './fixtures.ts';

const image = (version: string) => `${REGISTRY}/team/provider-example:${version}`;

function packages() {
  const registry = fakeRegistry();
  registry.push(image('v1'), [meta('Provider'), crd('Bucket')]);
  const digest = registry.push(image('v2'), [meta('Provider', {}, { annotations: { v: '2' } }), crd('Bucket')]);
  return { registry, second: revisionName('example', digest) };
}

/** Runs the program until it has rested, or has died after so many writes; whether it has died. */
async function live(lives: Lives, writes?: number): Promise<boolean> {
  const life = await lives.begin();
  if (writes !== undefined) life.dieAfterWrites(writes);
  await life.settle();
  await life.end();
  return life.isDead;
}

async function after(crashes: readonly number[]) {
  const { registry, second } = packages();
  const time = { now: startOfStage };
  const lives = await createLives({ operators: [operatorWith({ registry, settings: { now: () => time.now() } })] });
  const { client } = lives;
  time.now = () => lives.clock.now();
  let died = 0;
  const run = async () => {
    for (const writes of crashes) if (await live(lives, writes)) died++;
    await live(lives);
    const { items } = await client.list(Deployment, { namespace: SYSTEM });
    for (const deployment of items) await ready(client, deployment);
    await live(lives);
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
  await lives.close();
  assert.equal(bucket.metadata.uid, uid, 'the type was recreated');
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
