// The informer with the real client on the embedded API server: alone, and through a network that misbehaves by seed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  faultyTransport,
  formatFaults,
  objectOf,
  randomSchedule,
  runs,
  type TestCluster,
} from '@capstan/testing';
import { ConfigMap } from '../builtin/index.ts';
import { createClient } from '../client/index.ts';
import { isNotFound } from '../errors.ts';
import { silentLogger } from '../logger.ts';
import { keyOfObject } from '../object.ts';
import { createInformer } from './informer.ts';
import { mirror } from './mirror.test-support.ts';

const SEEDS = runs(12, 100);

const configMap = (name: string, value: string, labels: Record<string, string>) =>
  objectOf<ConfigMap>(ConfigMap, { metadata: { name, namespace: 'default', labels }, data: { value } });

async function contentOf({ client }: TestCluster, labelSelector: string): Promise<string[]> {
  const { items } = await client.list(ConfigMap, { labelSelector });
  return items.map((item) => `${keyOfObject(item)}@${item.metadata.resourceVersion}`).toSorted();
}

test('the embedded server streams the list, sends bookmarks and reports objects that leave the selector', async () => {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock, random });
  const { client } = cluster;
  await client.create(ConfigMap, configMap('a', '1', { app: 'x' }));
  await client.create(ConfigMap, configMap('b', '1', {}));
  const lists: boolean[] = [];
  const informer = createInformer({
    client,
    kind: ConfigMap,
    labelSelector: 'app=x',
    ownManagers: ['none'],
    clock,
    random,
    logger: silentLogger,
    observe: { listed: ({ isStreamed }) => lists.push(isStreamed) },
  });
  const follower = mirror(informer);
  const abort = new AbortController();
  const done = informer.run(abort.signal);
  await clock.settle();
  assert.deepEqual(lists, [true]);
  assert.deepEqual([...follower.objects.keys()], ['default/a']);
  assert.equal(informer.get('default/a')?.metadata.managedFields, undefined);
  await client.patch(ConfigMap, { namespace: 'default', name: 'a' }, 'merge', { metadata: { labels: { app: 'y' } } });
  await client.patch(ConfigMap, { namespace: 'default', name: 'b' }, 'merge', { metadata: { labels: { app: 'x' } } });
  await clock.settle();
  assert.deepEqual([...follower.objects.keys()], ['default/b']);
  await clock.advance(600_000);
  assert.ok(informer.staleness() <= 41_000, `bookmarks keep it fresh: ${informer.staleness()}`);
  follower.assertEqual();
  abort.abort();
  await done;
  await cluster.close();
  assert.equal(clock.pendingTimers, 0);
});

test(`under ${SEEDS} schedules of faults the copy and its events end with the server’s content`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await simulate(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${String(cause)}`, { cause });
    });
  }
});

async function simulate(seed: number): Promise<void> {
  const clock = createVirtualClock();
  const start = clock.now();
  const random = createRandom(seed);
  const edits = random.fork('edits');
  const cluster = await createTestCluster({ clock, random: random.fork('server') });
  const transport = faultyTransport(cluster.transport(), {
    random,
    clock,
    schedule: randomSchedule(random.fork('schedule')),
  });
  const labelSelector = edits.chance(0.5) ? 'app=x' : '';
  const informer = createInformer({
    client: createClient({ transport, clock, random: random.fork('retries') }),
    kind: ConfigMap,
    labelSelector,
    pageSize: 2,
    streaming: edits.chance(0.5),
    clock,
    random: random.fork('informer'),
    logger: silentLogger,
  });
  const follower = mirror(informer);
  const abort = new AbortController();
  const done = informer.run(abort.signal);
  for (let turn = 0; turn < 40; turn++) {
    await edit(cluster, informer, `c${edits.integer(0, 4)}`, edits);
    if (edits.chance(0.1)) cluster.server.compact(cluster.server.revision);
    await clock.advance(edits.pick([0, 10, 1000, 30_000]));
  }
  transport.heal();
  await clock.advance(1_200_000);
  follower.assertEqual();
  const copy = informer.list().map((object) => `${keyOfObject(object)}@${object.metadata.resourceVersion}`);
  const report = () => `seed ${seed}\n${formatFaults(transport.faults, start)}`;
  assert.deepEqual(copy, await contentOf(cluster, labelSelector), report());
  assert.ok(informer.isFresh(51_000), report());
  abort.abort();
  // Aborting the signal ends requests that hang in the network, and time ends those that are delayed.
  await clock.advance(60_000);
  await done;
  await cluster.close();
}

/** Creates, changes or deletes; every other time as an own write that is passed to the informer. */
async function edit(
  { client }: TestCluster,
  informer: Pick<ReturnType<typeof createInformer<ConfigMap>>, 'observeWrite' | 'observeDelete'>,
  name: string,
  random: ReturnType<typeof createRandom>,
): Promise<void> {
  const ref = { namespace: 'default', name };
  const isOwn = random.chance(0.5);
  if (random.chance(0.25)) {
    const existing = await client.find(ConfigMap, ref);
    if (!existing) return;
    await client.delete(ConfigMap, ref);
    if (isOwn) informer.observeDelete(ref, existing.metadata.uid ?? '');
    return;
  }
  const object = configMap(name, String(random.integer(0, 9)), random.chance(0.5) ? { app: 'x' } : { app: 'y' });
  const written = await client.update(ConfigMap, object).catch((error: unknown) => {
    if (isNotFound(error)) return client.create(ConfigMap, object);
    throw error;
  });
  if (isOwn) informer.observeWrite(written);
}
