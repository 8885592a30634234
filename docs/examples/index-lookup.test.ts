import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, type KindOf } from '@capstan/kube';
import { createStage, objectOf, type Stage } from '@capstan/testing';
import routes, { Route } from './index-lookup.ts';

type Route = KindOf<typeof Route>;
const ref = (name: string) => ({ namespace: 'default', name });
const routeTo = (name: string, host: string, path = '/') =>
  objectOf<Route>(Route, { metadata: ref(name), spec: { host, path } });

async function staged(given: readonly Route[], check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({ operators: [routes] });
  try {
    for (const one of given) {
      await stage.client.create(Route, one);
      // Which one is older is told by creationTimestamp, which has seconds.
      await stage.pass(2_000);
    }
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

const reasonOf = async ({ client }: Stage, name: string) =>
  findCondition((await client.get(Route, ref(name))).status?.conditions, 'Accepted')?.reason;

describe('the example of a look-up by content', () => {
  test('the oldest Route of a host and path has it, and the next one when that is gone', () =>
    staged([routeTo('z', 'a.example'), routeTo('b', 'a.example'), routeTo('c', 'a.example', '/x')], async (stage) => {
      assert.deepEqual(await Promise.all(['z', 'b', 'c'].map((name) => reasonOf(stage, name))), [
        'Accepted',
        'Conflict',
        'Accepted',
      ]);
      await stage.client.delete(Route, ref('z'));
      await stage.settle();
      assert.equal(await reasonOf(stage, 'b'), 'Accepted');
    }));

  test('a new host writes nothing on the Routes of others', () =>
    staged([routeTo('a', 'a.example')], async (stage) => {
      stage.transport.clear();
      await stage.client.create(Route, routeTo('b', 'b.example'));
      await stage.settle();
      const paths = stage.transport.writes.filter((write) => write.includes('/routes/'));
      assert.deepEqual(paths, ['PATCH /apis/example.capstan.dev/v1/namespaces/default/routes/b/status']);
    }));

  test('the fold counts the Routes of each host, and the ConfigMap goes with the last', () =>
    staged([routeTo('a', 'a.example'), routeTo('b', 'a.example', '/b'), routeTo('c', 'c.example')], async (stage) => {
      const data = async () => (await stage.client.find(ConfigMap, ref('hosts')))?.data;
      assert.deepEqual(await data(), { 'a.example': '2', 'c.example': '1' });
      await stage.client.patch(Route, ref('b'), 'merge', { spec: { host: 'c.example' } });
      await stage.settle();
      assert.deepEqual(await data(), { 'a.example': '1', 'c.example': '2' });
      for (const name of ['a', 'b', 'c']) await stage.client.delete(Route, ref(name));
      await stage.settle();
      assert.equal(await data(), undefined);
    }));
});
