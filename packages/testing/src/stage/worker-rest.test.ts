import assert from 'node:assert/strict';
import { pbkdf2 } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { defineKind, object, optional, Secret, string } from '@capstan/kube';
import { type Minter, mint, operator, plan, reconciler, writing } from '@capstan/reconcile';
import { createStage } from './stage.ts';
import { createWorkerRest } from './worker-rest.ts';

const Desired = defineKind({
  group: 'stage.capstan.dev',
  version: 'v1',
  kind: 'Desired',
  scope: 'Namespaced',
  spec: object({ text: optional(string()) }),
});

const slowKey: Minter<object, Secret> = {
  name: 'slow-key',
  valid: () => true,
  async make() {
    // Longer than a moment, on a worker thread.
    await promisify(pbkdf2)('a', 'b', 2_000_000, 32, 'sha256');
    return { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { created: 'eWVz' } };
  },
};

const desires = reconciler({
  name: 'desired',
  resource: Desired,
  writes: [writing(Secret, 'mint')],
  reconcile: ({ object: { metadata } }) =>
    plan({ children: [mint(Secret, { name: metadata.name ?? '', namespace: 'default' }, slowKey, {})] }),
});

test('a stage waits for keys that are made by worker threads, and no time passes meanwhile', async () => {
  const stage = await createStage({
    operators: [operator({ name: 'desires', kinds: [Desired], reconcilers: [desires] })],
  });
  try {
    const { client, clock } = stage;
    const before = clock.now();
    const metadata = { name: 'a', namespace: 'default' };
    await client.create(Desired, { apiVersion: Desired.apiVersion, kind: Desired.kind, metadata, spec: {} });
    await stage.settle();
    assert.equal((await client.get(Secret, metadata)).data?.['created'], 'eWVz');
    assert.ok(clock.now() - before < 10_000, 'time stood still');
  } finally {
    await stage.end();
  }
});

test('a worker that stays busy waits for the clock, and is waited for once', async () => {
  let isBusy = true;
  const rest = createWorkerRest(() => isBusy);
  assert.equal(await rest(), false);
  const start = performance.now();
  assert.equal(await rest(), false);
  assert.ok(performance.now() - start < 100);
  isBusy = false;
  assert.equal(await rest(), false);
  isBusy = true;
  setTimeout(() => {
    isBusy = false;
  }, 5);
  assert.equal(await rest(), true);
});
