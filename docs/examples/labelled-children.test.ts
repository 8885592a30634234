import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, silentLogger } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { mirrorInventory } from './labelled-children.ts';

test('the example of children known by label follows an inventory, and keeps all while it cannot be read', async () => {
  const clock = createVirtualClock();
  const { client, close } = await createTestCluster({ clock, random: createRandom(1) });
  let inventory: Record<string, string> | undefined = { a: 'one', b: 'two' };
  const look = () => (inventory === undefined ? Promise.reject(new Error('away')) : Promise.resolve(inventory));
  const stopping = new AbortController();
  const done = mirrorInventory({ look, client, clock, random: createRandom(2), logger: silentLogger }, stopping.signal);
  const found = async () => {
    const { items } = await client.list(ConfigMap, { labelSelector: 'example.capstan.dev/inventory' });
    return items.map(({ metadata, data }) => `${metadata.name}=${data?.['text']}`).toSorted();
  };
  await clock.advance(1_000);
  assert.deepEqual(await found(), ['a=one', 'b=two']);
  inventory = undefined;
  await clock.advance(60_000);
  await client.delete(ConfigMap, { namespace: 'default', name: 'a' });
  await clock.advance(60_000);
  assert.deepEqual(await found(), ['b=two'], 'nothing is written while the inventory is away');
  inventory = { a: 'changed' };
  await clock.advance(120_000);
  assert.deepEqual(await found(), ['a=changed']);
  stopping.abort();
  await clock.settle();
  await done;
  await close();
});
