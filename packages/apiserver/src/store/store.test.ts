import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import fc from 'fast-check';
import { CONFIG_MAPS, configMap, settle, testServer } from '../server.test-support.ts';
import { memoryStorage, type Storage } from './storage.ts';
import { createStore } from './store.ts';

const object = (data: string): UnknownObject => ({ apiVersion: 'v1', kind: 'Thing', metadata: {}, data });

describe('the store', () => {
  it('bounds its history in bytes: large objects leave less of the past, on the disk too', () => {
    const compactions: number[] = [];
    const storage: Storage = { ...memoryStorage(), compact: (revision) => void compactions.push(revision) };
    const store = createStore({ storage, historyLimit: 1000, historyBytes: 1_000_000 });
    for (let count = 0; count < 100; count += 1) store.put('x', 'a', object('x'.repeat(50_000)));
    assert.ok(store.history.length <= 20, `${store.history.length} events`);
    assert.ok(store.history.length >= 9, `${store.history.length} events`);
    assert.equal(compactions.at(-1), store.history.compacted);
    assert.throws(() => store.listAt('x', '', store.history.compacted - 1));
    assert.equal(store.listAt('x', '', store.history.compacted).length, 1);
    for (let count = 0; count < 100; count += 1) store.put('x', 'b', object('small'));
    assert.ok(store.history.length >= 100);
  });

  it('remembers every state within its history exactly', () => {
    const key = fc.constantFrom('a/1', 'a/2', 'a-b/1', 'b/1', 'c/1');
    const write = fc.record({ resource: fc.constantFrom('x', 'y'), key, remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 40 }), (writes) => {
        const store = createStore({ storage: memoryStorage(), historyLimit: 100 });
        const past = new Map([[store.revision, [] as string[]]]);
        const model = new Map<string, string>();
        for (const [index, { resource, key, remove }] of writes.entries()) {
          const before = store.revision;
          if (remove) store.remove(resource, key);
          else store.put(resource, key, object(String(index)));
          const removes = remove && model.has(`${resource} ${key}`);
          assert.equal(store.revision, before + (!remove || removes ? 1 : 0));
          if (remove) model.delete(`${resource} ${key}`);
          else model.set(`${resource} ${key}`, String(index));
          past.set(
            store.revision,
            [...model]
              .filter(([id]) => id.startsWith('x '))
              .map(([id, data]) => `${id.slice(2)}=${data}`)
              .sort(),
          );
        }
        for (const [revision, expected] of past) {
          const found = store.listAt('x', '', revision).map(({ key, object }) => `${key}=${object['data'] as string}`);
          assert.deepEqual([...found].sort(), expected);
          assert.deepEqual(
            found.map((one) => one.split('=')[0] ?? ''),
            found.map((one) => one.split('=')[0] ?? '').sort(),
            'in key order',
          );
        }
      }),
    );
  });

  it('shows no client a write before it is durable', async () => {
    let release: (() => void) | undefined;
    let pending: Promise<void> | undefined;
    const slow: Storage = {
      ...memoryStorage(),
      append() {
        pending ??= new Promise((resolve) => {
          release = () => {
            pending = undefined;
            resolve();
          };
        });
      },
      flush: () => pending,
    };
    const { transport, watch } = testServer({ storage: slow });
    release?.();
    const watching = await watch(CONFIG_MAPS);
    let answered = false;
    const write = transport.request({ method: 'POST', path: CONFIG_MAPS, body: configMap('a') }).then((answer) => {
      answered = true;
      return answer;
    });
    await settle();
    assert.equal(answered, false);
    assert.deepEqual(await watching.take(), []);
    release?.();
    assert.equal((await write).status, 201);
    assert.equal((await watching.take()).length, 1);
    await watching.close();
  });

  it('takes up what was stored', async () => {
    const kept: { resource: string; key: string; object: UnknownObject }[] = [];
    const storage = (): Storage => ({
      ...memoryStorage(),
      load: () => ({ revision: 1 + kept.length, objects: kept }),
      append: ({ resource, key, object }) => {
        if (object) kept.push({ resource, key, object });
      },
    });
    const first = testServer({ storage: storage() });
    const made = await first.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    const second = testServer({ storage: storage() });
    assert.deepEqual(await second.ok('GET', `${CONFIG_MAPS}/a`), made);
    assert.equal(second.server.revision, first.server.revision);
  });
});
