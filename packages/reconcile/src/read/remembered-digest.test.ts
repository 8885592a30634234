import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';

const hashes = reconciler<ConfigMap>({
  name: 'hashes',
  resource: ConfigMap,
  writes: [ConfigMap],
  reconcile({ object: { metadata, data = {} }, digest }) {
    const { name = '', namespace = '' } = metadata;
    if (!data['watched']) return plan({});
    const growing: Record<string, string> = {};
    growing['first'] = data['watched'];
    const first = digest(growing);
    growing['second'] = 'x';
    const second = digest(growing);
    return plan({
      children: [
        apply(ConfigMap, { metadata: { name: `${name}-hash`, namespace }, data: { first, second, all: digest(data) } }),
      ],
    });
  },
});

test('a digest is remembered for what the caches hold, never for what a run changes itself', async () => {
  const ref = { namespace: 'default', name: 'a' };
  const stage = await createStage({
    operators: [operator({ name: 'test', kinds: [], reconcilers: [hashes] })],
    given: async (client) =>
      void (await client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: ref,
        data: { watched: '1' },
      })),
  });
  const created = async () => (await stage.client.get(ConfigMap, { ...ref, name: 'a-hash' })).data;
  const before = await created();
  assert.notEqual(before?.['first'], before?.['second']);
  await stage.client.patch(ConfigMap, ref, 'merge', { data: { watched: '2' } });
  await stage.settle();
  const after = await created();
  for (const name of ['first', 'second', 'all']) assert.notEqual(after?.[name], before?.[name], name);
  await stage.client.patch(ConfigMap, ref, 'merge', { data: { watched: '1' } });
  await stage.settle();
  assert.deepEqual(await created(), before);
  await stage.end();
});
