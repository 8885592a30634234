import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, type InformerEvent, type InformerView, type KubeObject, keyOfObject } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine } from '../engine/index.ts';
import { createFeed } from './feed.ts';

/** An informer of one namespace that the test fills. */
function informerOf() {
  const listeners = new Set<(events: readonly InformerEvent<KubeObject>[]) => void>();
  const held = new Map<string, KubeObject>();
  let isSynced = false;
  const publish = (event: InformerEvent<KubeObject>) => {
    for (const listener of listeners) listener([event]);
  };
  const view = {
    kind: ConfigMap,
    get isSynced() {
      return isSynced;
    },
    get: (key: string) => held.get(key),
    subscribe(listener: (events: readonly InformerEvent<KubeObject>[]) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as InformerView<KubeObject>;
  return {
    view,
    put(namespace: string, name: string) {
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } };
      const key = keyOfObject(object);
      held.set(key, object);
      publish({ type: 'upsert', key, object, old: undefined });
    },
    sync() {
      isSynced = true;
      publish({ type: 'synced' });
    },
  };
}

test('no object of a kind with several informers is absent before the last of them has listed', async () => {
  const engine = createEngine({ clock: createVirtualClock() });
  const table = engine.table<KubeObject>({ name: 'ConfigMap' });
  const [first, second] = [informerOf(), informerOf()];
  const feed = createFeed(table, [first.view, second.view]);
  const names = engine.derive<readonly string[]>({
    name: 'names',
    compute: (_key, tracker) => tracker.list(table).map(({ metadata }) => metadata.name ?? ''),
  });
  engine.hold(names, '');
  const state = async () => {
    await engine.flush();
    const settled = engine.valueOf(names, '');
    return settled?.state === 'value' ? settled.value : settled?.state;
  };
  first.put('one', 'a');
  first.sync();
  assert.deepEqual([await state(), feed.isSynced], ['suspended', false]);
  second.put('two', 'b');
  second.sync();
  assert.deepEqual([await state(), feed.isSynced], [['a', 'b'], true]);
});
