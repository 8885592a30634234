import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, CustomResourceDefinition } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { type Operator } from '../../operator.ts';
import { Copy, Duplicate, operators, ref, source } from './several-worlds.test-support.ts';

describe('an alias', () => {
  test('is one view: reconciled like the kind, with the status on the object that was written', async () => {
    const stage = await createStage({
      operators,
      world: { name: 'here' },
      given: async (client) => {
        await client.create(ConfigMap, source('one'));
        await client.create(Duplicate, {
          apiVersion: Duplicate.apiVersion,
          kind: 'Duplicate',
          metadata: ref('d'),
          spec: { source: 'here' },
        });
      },
    });
    const written = await stage.client.get(Duplicate, ref('d'));
    assert.equal(written.status?.text, 'one');
    assert.deepEqual(written.spec, { source: 'here' });
    const created = await stage.client.get(ConfigMap, ref('d-copy'));
    assert.equal(created.metadata.ownerReferences?.[0]?.kind, 'Duplicate');
    assert.equal(created.metadata.ownerReferences?.[0]?.uid, written.metadata.uid);
    await stage.end();
  });
});

describe('objects of one name under several aliases', () => {
  const of = (kind: typeof Copy | typeof Duplicate, spec: object) => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: ref('d'),
    spec,
  });
  const textOf = async (client: Client, kind: typeof Copy | typeof Duplicate) =>
    (await client.get(kind as typeof Copy, ref('d'))).status?.text;

  test('are the oldest of them; the next follows when it is gone', async () => {
    const stage = await createStage({
      operators,
      world: { name: 'here' },
      given: async (client) => {
        await client.create(ConfigMap, source('one'));
        await client.create(Duplicate, of(Duplicate, { source: 'here' }));
      },
    });
    const { client } = stage;
    await stage.pass(1500);
    await client.create(Copy, of(Copy, { from: 'here' }));
    await stage.settle();
    assert.deepEqual([await textOf(client, Duplicate), await textOf(client, Copy)], ['one', undefined]);
    await client.delete(Duplicate, ref('d'));
    await stage.settle();
    assert.equal(await textOf(client, Copy), 'one');
    await client.delete(Copy, ref('d'));
    await stage.settle();
    // Nothing of either is left in the caches.
    assert.equal(stage.program.runtime.status().reconcilers.find(({ id }) => id.startsWith('test.copy'))?.objects, 0);
    await stage.end();
  });

  test('need no alias to be installed, and are seen when one is', async () => {
    const stage = await createStage({
      operators: [{ ...operators[0], kinds: [Copy] } as Operator],
      world: { name: 'here' },
      given: (client) => client.create(ConfigMap, source('one')).then(() => undefined),
    });
    const { client, clock } = stage;
    await client.create(Copy, of(Copy, { from: 'here' }));
    await stage.settle();
    assert.equal(await textOf(client, Copy), 'one');
    await client.delete(Copy, ref('d'));
    await client.create(CustomResourceDefinition, Duplicate.crd());
    await client.create(Duplicate, of(Duplicate, { source: 'here' }));
    await clock.advance(300_000);
    await stage.settle();
    assert.equal(await textOf(client, Duplicate), 'one');
    await stage.end();
  });
});
