import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Client,
  type InformerEvent,
  type InformerView,
  type KubeObject,
  keyOfObject,
  Secret,
  silentLogger,
} from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createEngine, type Root } from '../engine/index.ts';
import { createReferencedFeed } from './referenced-feed.ts';

const secret = (resourceVersion: string, uid = 'first'): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'default', name: 's', uid, resourceVersion },
});
const named = (name: string): Secret => ({ ...secret('1'), metadata: { ...secret('1').metadata, name } });
const KEY = keyOfObject(secret('1'));

const versionOf = (object: KubeObject | undefined) => object?.metadata.resourceVersion ?? 'absent';

/** A feed whose metadata watch and whose answers to GET the test gives. */
function stage({ isSynced = true, isListRefused = false } = {}) {
  const clock = createVirtualClock();
  const engine = createEngine({ clock });
  const listeners = new Set<(events: readonly InformerEvent<KubeObject>[]) => void>();
  const held = new Map<string, KubeObject>();
  const watch = { isSynced, isListRefused };
  const lists: string[] = [];
  const publish = (event: InformerEvent<KubeObject>) => {
    for (const listener of listeners) listener([event]);
  };
  const metadata = {
    kind: Secret,
    get isSynced() {
      return watch.isSynced;
    },
    get: (key: string) => held.get(key),
    list: () => [...held.values()],
    subscribe(listener: (events: readonly InformerEvent<KubeObject>[]) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    observeWrite() {},
    observeDelete() {},
  } as unknown as InformerView<KubeObject>;
  const gets: { answer(object: Secret): Promise<void> }[] = [];
  const client = {
    get() {
      const { promise, resolve } = Promise.withResolvers<Secret>();
      gets.push({
        async answer(object) {
          resolve(object);
          await clock.settle();
          await engine.flush();
        },
      });
      return promise;
    },
    list(_kind: unknown, { continue: from = '0', limit = 0 }: { continue?: string; limit?: number }) {
      lists.push(from);
      if (watch.isListRefused) return Promise.reject(new Error('forbidden'));
      const end = Number(from) + limit;
      const items = [...held.values()].slice(Number(from), end);
      return Promise.resolve({ items, resourceVersion: '9', ...(end < held.size && { continue: String(end) }) });
    },
  } as unknown as Client;
  const signal = new AbortController().signal;
  const feed = createReferencedFeed({
    engine,
    name: 'Secret',
    kind: Secret,
    random: createRandom(1),
    clock,
    logger: silentLogger,
    metadata: [metadata],
    signal,
    client,
  });
  const reader = engine.derive<string>({
    name: 'reader',
    compute: (key, tracker) => versionOf(tracker.get(feed.table, key)),
  });
  let root: Root | undefined;
  return {
    feed,
    gets,
    lists,
    has: (name: string) => feed.table.peek(keyOfObject(named(name))) !== undefined,
    async read() {
      root = engine.hold(reader, KEY);
      await engine.flush();
      await engine.flush();
    },
    /** As many other objects are there, and read. */
    async readMany(count: number) {
      for (let index = 0; index < count; index++) {
        const object = named(`s-${index}`);
        held.set(keyOfObject(object), object);
        engine.hold(reader, keyOfObject(object));
      }
      await engine.flush();
      await engine.flush();
    },
    /** So many more that nothing reads. */
    add(count: number) {
      for (let index = 0; index < count; index++) {
        const object = named(`unread-${index}`);
        held.set(keyOfObject(object), object);
      }
    },
    async settle() {
      await clock.settle();
      await engine.flush();
    },
    async leave() {
      root?.stop();
      await engine.flush();
      await engine.flush();
    },
    /** The watch brings an object. */
    async upsert(object: Secret) {
      const old = held.get(KEY);
      held.set(KEY, object);
      publish({ type: 'upsert', key: KEY, object, old });
      await engine.flush();
    },
    /** The watch delivers the deletion of the last object. */
    async remove() {
      const object = held.get(KEY);
      assert.ok(object);
      held.delete(KEY);
      publish({ type: 'delete', key: KEY, object });
      await engine.flush();
    },
    async sync() {
      watch.isSynced = true;
      publish({ type: 'synced' });
      await engine.flush();
    },
    get value() {
      const settled = engine.valueOf(reader, KEY);
      return settled?.state === 'value' ? settled.value : settled?.state;
    },
  };
}

test('content whose deletion overtakes the answer to its GET stays deleted', async () => {
  const all = stage();
  await all.upsert(secret('5'));
  await all.read();
  await all.remove();
  await all.gets[0]?.answer(secret('5'));
  assert.equal(all.value, 'absent');
});

test('content of an object that was replaced during its GET is not shown; that of the new one is fetched', async () => {
  const all = stage();
  await all.upsert(secret('5'));
  await all.read();
  await all.remove();
  await all.upsert(secret('8', 'second'));
  await all.gets[0]?.answer(secret('5'));
  assert.equal(all.value, 'absent');
  assert.equal(all.gets.length, 2);
  await all.gets[1]?.answer(secret('8', 'second'));
  assert.equal(all.value, '8');
});

test('content that changed during its GET is shown as it came, and fetched again', async () => {
  const all = stage();
  await all.upsert(secret('5'));
  await all.read();
  await all.upsert(secret('6'));
  await all.gets[0]?.answer(secret('5'));
  assert.equal(all.value, '5');
  await all.gets[1]?.answer(secret('6'));
  assert.equal(all.value, '6');
});

test('an own write that is answered after the deletion of its object does not bring the object back', async () => {
  const all = stage();
  await all.upsert(secret('5'));
  await all.read();
  await all.gets[0]?.answer(secret('5'));
  await all.remove();
  all.feed.observeWrite(secret('6'));
  await all.read();
  assert.equal(all.value, 'absent');
});

test('before the first list nothing is fetched and nothing is absent', async () => {
  const all = stage({ isSynced: false });
  await all.read();
  assert.equal(all.value, 'suspended');
  await all.upsert(secret('5'));
  assert.equal(all.gets.length, 0, 'not fetched before the list is complete');
  await all.sync();
  await all.gets[0]?.answer(secret('5'));
  assert.equal(all.value, '5');
});

test('content that is not read any more is dropped, and fetched again when it is read again', async () => {
  const all = stage();
  await all.upsert(secret('5'));
  await all.read();
  await all.gets[0]?.answer(secret('5'));
  assert.ok(all.feed.table.peek(KEY));
  await all.leave();
  assert.equal(all.feed.table.peek(KEY), undefined);
  await all.read();
  assert.equal(all.value, 'suspended');
  await all.gets[1]?.answer(secret('5'));
  assert.equal(all.value, '5');
});

test('a limited number of many read objects is fetched at a time, and each gets its turn', async () => {
  const all = stage();
  await all.readMany(199);
  assert.equal(all.gets.length, 64);
  for (let answered = 0; answered < 199; answered++) {
    await all.gets[answered]?.answer({
      ...secret('1'),
      metadata: { ...secret('1').metadata, name: `s-${answered}` },
    });
    assert.ok(all.gets.length - answered - 1 <= 64);
  }
  assert.equal(all.gets.length, 199);
});

test('many objects of which most of a namespace is read are listed at once, in pages, and none is fetched', async () => {
  const all = stage();
  await all.readMany(1_200);
  await all.settle();
  assert.deepEqual(all.lists, ['0', '500', '1000']);
  assert.equal(all.has('s-1199'), true);
  assert.equal(all.gets.length, 0);
});

test('where objects may not be listed, they are fetched one by one', async () => {
  const all = stage({ isListRefused: true });
  await all.readMany(300);
  await all.gets[0]?.answer(named('s-0'));
  await all.settle();
  assert.deepEqual(all.lists, ['0']);
  for (let index = 1; index < 300; index++) await all.gets[index]?.answer(named(`s-${index}`));
  assert.equal(all.has('s-299'), true);
});

test('few objects of a large namespace are fetched one by one', async () => {
  const all = stage();
  all.add(1_000);
  await all.readMany(300);
  await all.gets[0]?.answer(named('s-0'));
  await all.settle();
  assert.deepEqual(all.lists, []);
});
