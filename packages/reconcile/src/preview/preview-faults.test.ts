// Changes in one of several clusters, and objects that finalizers hold: each test notices one mistake that was planted once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, createClient, defineKind, type KindOf, object, silentLogger, string } from '@capstan/kube';
import { createRandom, createStage, createTestCluster } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { preview } from './preview.ts';

const Box = defineKind({
  group: 'boxes.capstan.dev',
  version: 'v1',
  kind: 'Box',
  scope: 'Namespaced',
  spec: object({ value: string() }),
});
type Box = KindOf<typeof Box>;
const boxes = operator({
  name: 'boxes',
  kinds: [Box],
  reconcilers: [
    reconciler<Box>({
      name: 'box',
      resource: Box,
      writes: [ConfigMap],
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          children: [
            apply(ConfigMap, {
              metadata: { namespace: 'default', name: `${metadata.name}` },
              data: { value: spec.value },
            }),
          ],
        }),
    }),
  ],
});
const ref = { namespace: 'default', name: 'a' };
const box = (value: string, finalizers?: string[]): Box => ({
  apiVersion: Box.apiVersion,
  kind: Box.kind,
  metadata: { ...ref, ...(finalizers && { finalizers }) },
  spec: { value },
});

test('a change in one cluster is previewed there, and leaves the object of the same name in another one alone', async () => {
  const stage = await createStage({
    operators: [boxes],
    given: async (client) => void (await client.create(Box, box('home'))),
  });
  const other = await createTestCluster({ clock: stage.clock, random: createRandom(2), operators: [boxes] });
  await other.client.create(Box, box('away'));
  const { runtime } = stage.program;
  const transport = other.transport();
  runtime.addWorld({
    name: 'away',
    client: createClient({ transport, clock: stage.clock, random: createRandom(3), logger: silentLogger }),
  });
  try {
    await stage.settle();
    const changesIn = async (world: string | undefined, value: string) => {
      const change = { kind: Box, object: box(value), ...(world !== undefined && { world }) };
      const { writes } = await preview(runtime, [change]);
      return writes.flatMap(({ changes }) =>
        changes.map(({ before, after }) => `${String(before)} → ${String(after)}`),
      );
    };
    assert.deepEqual(await changesIn('away', 'new'), ['away → new']);
    assert.deepEqual(await changesIn('', 'new'), ['home → new']);
    assert.deepEqual(await changesIn(undefined, 'new'), ['home → new'], 'the first cluster is meant by default');
    assert.deepEqual(await changesIn('away', 'away'), []);
  } finally {
    await runtime.removeWorld('away');
    await stage.end();
    await other.close();
  }
});

test('a deleted object that another finalizer holds is not shown as gone, and neither are its children', async () => {
  const stage = await createStage({
    operators: [boxes],
    given: async (client) => void (await client.create(Box, box('held', ['example.dev/other']))),
  });
  try {
    const held = await preview(stage.program.runtime, [{ kind: Box, ref, gone: true }]);
    assert.deepEqual(held.writes, []);
    await stage.client.patch(Box, ref, 'merge', { metadata: { finalizers: null } });
    await stage.settle();
    const free = await preview(stage.program.runtime, [{ kind: Box, ref, gone: true }]);
    assert.deepEqual(
      free.writes.map(({ verb, object: name }) => `${verb} ${name}`),
      ['delete ConfigMap default/a'],
    );
  } finally {
    await stage.end();
  }
});
