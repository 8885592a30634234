// Clients in this process share objects with the server. None of them can change the server's data.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isRefusedChange, type UnknownObject } from '@capstan/kube';
import { type TestServer, testServer } from '../server.test-support.ts';
import { memoryStorage } from '../store/storage.ts';
import { createStore } from '../store/store.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const body = (): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', labels: { text: 'kept' } },
  data: { text: 'kept' },
});
const MERGE = { contentType: 'application/merge-patch+json' };
const APPLY = { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'test', force: 'true' } };
const JSON_PATCH = { contentType: 'application/json-patch+json' };

/** Every request whose answer holds a stored object. */
const answers: Record<string, (server: TestServer) => Promise<unknown>> = {
  create: ({ ok }) => ok('POST', maps, { ...body(), metadata: { name: 'b' } }),
  get: ({ ok }) => ok('GET', `${maps}/a`),
  list: async ({ ok }) => ((await ok('GET', maps)) as unknown as { items: unknown[] }).items[0],
  update: async ({ ok }) => ok('PUT', `${maps}/a`, { ...body(), data: { text: 'new' } }),
  'a merge patch': ({ ok }) => ok('PATCH', `${maps}/a`, { data: { text: 'new' } }, MERGE),
  'a JSON patch': ({ ok }) => ok('PATCH', `${maps}/a`, [{ op: 'add', path: '/data/x', value: 'y' }], JSON_PATCH),
  apply: ({ ok }) => ok('PATCH', `${maps}/a`, { ...body(), data: { other: 'x' } }, APPLY),
  'the events of a watch': async (server) => {
    const watch = await server.watch(maps);
    const [event] = await watch.take();
    await watch.close();
    return event?.object;
  },
};

describe('an object that a client in this process gets by', () => {
  for (const [name, ask] of Object.entries(answers))
    test(`${name} cannot be changed`, async () => {
      const server = testServer();
      await server.ok('POST', maps, body());
      const answer = (await ask(server)) as UnknownObject & { data: Record<string, string> };
      const changes = [
        () => (answer.data['text'] = 'changed'),
        () => Object.assign(answer.metadata, { labels: {} }),
        () => Object.assign(answer, { added: true }),
      ];
      for (const change of changes) assert.throws(change, isRefusedChange);
      assert.doesNotMatch(JSON.stringify(await server.ok('GET', `${maps}/a`)), /changed|added/);
    });
});

/** Every request whose body may end up in the store. */
const bodies: Record<string, { before: boolean; send(server: TestServer, own: UnknownObject): Promise<unknown> }> = {
  create: { before: false, send: ({ ok }, own) => ok('POST', maps, own) },
  update: { before: true, send: ({ ok }, own) => ok('PUT', `${maps}/a`, own) },
  'a merge patch': { before: true, send: ({ ok }, own) => ok('PATCH', `${maps}/a`, own, MERGE) },
  apply: { before: true, send: ({ ok }, own) => ok('PATCH', `${maps}/a`, own, APPLY) },
  'a JSON patch': {
    before: true,
    send: ({ ok }, own) =>
      ok('PATCH', `${maps}/a`, [{ op: 'replace', path: '/data', value: (own as { data?: unknown }).data }], JSON_PATCH),
  },
};

describe('the body that a client in this process sends by', () => {
  for (const [name, { before, send }] of Object.entries(bodies))
    test(`${name} stays its own: it may change it, and the server keeps what was sent`, async () => {
      const server = testServer();
      if (before) await server.ok('POST', maps, { ...body(), data: { text: 'before' } });
      const own = body() as UnknownObject & { data: Record<string, string> };
      await send(server, own);
      own.data['text'] = 'changed';
      Object.assign(own.metadata.labels ?? {}, { text: 'changed' });
      const stored = (await server.ok('GET', `${maps}/a`)) as unknown as { data: unknown };
      assert.deepEqual(stored.data, { text: 'kept' });
      assert.doesNotMatch(JSON.stringify(stored), /changed/);
    });
});

test('objects that a restart loads cannot be changed either', () => {
  const object = { ...body(), metadata: { name: 'a', resourceVersion: '1' } } as UnknownObject;
  const storage = {
    ...memoryStorage(),
    load: () => ({ revision: 1, objects: [{ resource: 'configmaps', key: 'default/a', object }] }),
  };
  const store = createStore({ storage, historyLimit: 10 });
  const loaded = store.get('configmaps', 'default/a') as UnknownObject & { data: Record<string, string> };
  assert.throws(() => (loaded.data['text'] = 'changed'), isRefusedChange);
});

test('documents about the API cannot be changed by a client in this process', async () => {
  const { ok } = testServer();
  const groups = (await ok('GET', '/apis')) as unknown as { groups: unknown[] };
  assert.throws(() => groups.groups.pop(), isRefusedChange);
  assert.ok(((await ok('GET', '/apis')) as unknown as { groups: unknown[] }).groups.length > 0);
});
