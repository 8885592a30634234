// Causes that are written with a child: each test notices one mistake that was planted once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { parseCause } from '../why/index.ts';
import { onRuntime, ref, refusal, replacing, Thing, thing } from './runtime.test-support.ts';

const sealing = reconciler<Thing>({
  name: 'sealing',
  resource: Thing,
  reads: [Secret, reading(ConfigMap, 'everywhere')],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec }, read, digest }) {
    const secret = digest(read.get(Secret, ref('fs'), ({ data }) => data));
    const settings = read.get(ConfigMap, ref('settings'), ({ data }) => data?.['x']);
    return plan({
      children: [
        apply(ConfigMap, {
          metadata: ref(`${metadata.name}-child`),
          data: { secret, settings: `${settings} ${spec.value}` },
        }),
      ],
    });
  },
});
const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [sealing] })];
const secret = (value: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: ref('fs'),
  data: { value: btoa(value) },
});

/** The digests of a Secret before and after an edit, as the cause of the child shows them. */
async function digestsWith(bytes: Uint8Array): Promise<readonly (string | undefined)[]> {
  const stage = await createStage({
    operators,
    digestKey: { id: 'test', bytes },
    given: async (client) => {
      await client.create(Secret, secret('before'));
      await client.create(Thing, thing('a'));
    },
  });
  try {
    await stage.client.patch(Secret, ref('fs'), 'merge', { data: { value: btoa('after') } });
    await stage.settle();
    const child = await stage.client.get(ConfigMap, ref('a-child'));
    const change = parseCause(child.metadata.annotations?.[CAUSE_ANNOTATION])?.changes[0];
    return [change?.from, change?.to];
  } finally {
    await stage.end();
  }
}

test('digests of a Secret in a cause depend on the key of the operator, so that its content cannot be guessed', async () => {
  const [from, to] = await digestsWith(new Uint8Array(32).fill(1));
  const [otherFrom, otherTo] = await digestsWith(new Uint8Array(32).fill(2));
  for (const digest of [from, to, otherFrom, otherTo]) assert.match(digest ?? '', /^[0-9a-f]{12}$/);
  assert.equal(new Set([from, to, otherFrom, otherTo]).size, 4);
});

test('a write that is tried again keeps its cause, and adds what changed since', async () => {
  let isRefused = false;
  await onRuntime(
    {
      operators,
      through: (client) =>
        replacing(client, 'apply', (call) =>
          isRefused ? Promise.reject(refusal(500, 'InternalError', 'etcd is away')) : call(),
        ),
      async given(client) {
        await client.create(Secret, secret('before'));
        await client.create(ConfigMap, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: ref('settings'),
          data: { x: '1' },
        });
        await client.create(Thing, thing('a'));
      },
    },
    async ({ client, clock }) => {
      await clock.advance(5_000);
      isRefused = true;
      await client.patch(Secret, ref('fs'), 'merge', { data: { value: btoa('after') } });
      await clock.advance(3_000);
      await client.patch(ConfigMap, ref('settings'), 'merge', { data: { x: '2' } });
      await clock.advance(3_000);
      isRefused = false;
      await clock.advance(120_000);
      const child = await client.get(ConfigMap, ref('a-child'));
      assert.equal(child.data?.['settings'], '2 a');
      const cause = parseCause(child.metadata.annotations?.[CAUSE_ANNOTATION]);
      assert.deepEqual(
        cause?.changes.map(({ object }) => object),
        ['Secret default/fs', 'ConfigMap default/settings'],
      );
    },
  );
});
