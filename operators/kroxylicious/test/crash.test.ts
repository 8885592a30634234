// The operator dies between any two writes: the next one arrives where it would have arrived, with no revision more.
// On the embedded server only: dozens of clusters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deployment, type KubeObject, Secret } from '@capstan/kube';
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
import { createKroxylicious } from '../src/index.ts';
import {
  certificate,
  cluster,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  opaque,
  patch,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const [first, renewed] = await Promise.all([certificate(), certificate()]);
const operators = [createKroxylicious()];
const objects = (): KubeObject[] => [
  proxy(),
  service(),
  tcpIngress(),
  tlsIngress(),
  opaque('kms', { password: 'correct horse' }),
  filter({ password: '${secret:kms:password}' }),
  tlsSecret('server', first),
  cluster('one', { filterRefs: [{ name: 'encryption' }] }),
  cluster('two', { ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }] }),
];

/** Runs the program until it has rested, or has died after so many writes. */
async function live(world: TestCluster, clock: VirtualClock, writes: number | undefined): Promise<boolean> {
  const random = createRandom(7);
  const life = mortalClock(clock);
  const transport = faultyTransport(world.transport(), { random, clock: life, schedule: {} });
  const { runtime, stop } = startIncarnation({ operators, transport, clock: life, random });
  if (writes !== undefined) transport.crashAfterWrites(writes);
  const isResting = () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
  await clock.settle();
  await clock.runUntilIdle(120_000, () => transport.dead || isResting());
  const hasDied = transport.dead;
  if (hasDied) life.kill();
  else await stop();
  return hasDied;
}

async function deploymentAfter(crashes: readonly number[]): Promise<{ deployment: Deployment; died: number }> {
  const clock = createVirtualClock();
  const world = await createTestCluster({ clock, random: createRandom(1), operators });
  await create(world.client, ...objects());
  let died = 0;
  for (const writes of crashes) if (await live(world, clock, writes)) died++;
  await live(world, clock, undefined);
  await patch(world.client, Secret, 'server', {
    data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
  });
  for (const writes of crashes) if (await live(world, clock, writes)) died++;
  await live(world, clock, undefined);
  const deployment = await get.deployment(world.client);
  await world.close();
  return { deployment, died };
}

test('whenever it dies, the end is the same and the pods were rolled once', async () => {
  const { deployment: expected } = await deploymentAfter([]);
  let died = 0;
  for (let writes = 1; writes <= 12; writes++) {
    const found = await deploymentAfter([writes]);
    died += found.died;
    assert.deepEqual(found.deployment.spec?.template, expected.spec?.template, `after ${writes} writes`);
    // Made, and rolled by the renewed certificate: the generation counts both.
    assert.equal(found.deployment.metadata.generation, expected.metadata.generation, `after ${writes} writes`);
  }
  assert.ok(died >= 12, `it died only ${died} times`);
  assert.equal(expected.metadata.namespace, NAMESPACE);
});

test('whenever it dies during a change, what breaks before it is back rolls nothing', async () => {
  const clock = createVirtualClock();
  for (let writes = 1; writes <= 8; writes++) {
    const world = await createTestCluster({ clock, random: createRandom(1), operators });
    await create(world.client, ...objects());
    await live(world, clock, undefined);
    await patch(world.client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) });
    await live(world, clock, writes);
    const before = await get.deployment(world.client);
    await world.client.delete(Secret, { namespace: NAMESPACE, name: 'kms' });
    await live(world, clock, undefined);
    const after = await get.deployment(world.client);
    assert.deepEqual(after.spec?.template, before.spec?.template, `after ${writes} writes`);
    await world.close();
  }
});
