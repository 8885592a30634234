import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, ConfigMap, Secret } from '@capstan/kube';
import { createLives } from '@capstan/testing';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { derivation } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { parseCause } from '../why/index.ts';
import { ref, Thing, thing } from './runtime.test-support.ts';

const dataOf = ({ data }: Secret | ConfigMap) => data;
const contents = derivation<string>({
  name: 'contents',
  compute: ({ read, digest }) => digest(read.get(Secret, ref('fs'), dataOf), read.get(Secret, ref('other'), dataOf)),
});
/** A thing's child has a digest of two Secrets, a ConfigMap and what its spec names. */
const hashing = reconciler<Thing>({
  name: 'hashing',
  resource: Thing,
  reads: [Secret, reading(ConfigMap, 'everywhere')],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec, status }, read, digest }) {
    const more = spec.value === 'a' ? [] : [read.get(ConfigMap, ref(spec.value), dataOf)];
    // Its own child follows from the plan.
    const isThere = read.get(ConfigMap, ref(`${metadata.name}-child`)) !== undefined;
    const settings = read.get(ConfigMap, ref('settings'), dataOf);
    const hash = digest(read.derived(contents, ''), settings, spec.value, more, isThere);
    return plan({
      children: [apply(ConfigMap, { metadata: ref(`${metadata.name}-child`), data: { hash } })],
      status: { seen: status?.seen === undefined ? 'first' : 'again' },
    });
  },
});
const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [hashing] })];
const secret = (name: string, value: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: ref(name),
  data: { value: btoa(value) },
});

async function causeOf(client: Client) {
  const child = await client.get(ConfigMap, ref('a-child'));
  return parseCause(child.metadata.annotations?.[CAUSE_ANNOTATION]);
}

/** What the cause of the child names after something was done while nothing ran. */
async function namedAfter(
  edit: (client: Client) => Promise<unknown>,
): Promise<readonly (readonly [string, readonly string[]])[]> {
  const lives = await createLives({
    operators,
    async given(client) {
      for (const name of ['fs', 'other']) await client.create(Secret, secret(name, 'before'));
      await client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: ref('settings'),
        data: { x: '1' },
      });
      await client.create(Thing, thing('a'));
    },
  });
  try {
    const first = await lives.begin();
    await first.settle();
    await first.end();
    await edit(lives.client);
    const second = await lives.begin();
    await second.settle();
    await second.end();
    return (await causeOf(lives.client))?.changes.map(({ object, via }) => [object, via] as const) ?? [];
  } finally {
    await lives.close();
  }
}

test('what changed while nothing ran is named after the restart, and nothing else', async () => {
  const edited = await namedAfter((client) =>
    client.patch(Secret, ref('fs'), 'merge', { data: { value: btoa('after') } }),
  );
  assert.deepEqual(edited, [['Secret default/fs', ['contents()', 'test.hashing(default/a)']]]);
  const settings = await namedAfter((client) =>
    client.patch(ConfigMap, ref('settings'), 'merge', { data: { x: '2' } }),
  );
  assert.deepEqual(settings, [['ConfigMap default/settings', ['test.hashing(default/a)']]]);
  const own = await namedAfter((client) => client.patch(Thing, ref('a'), 'merge', { spec: { value: 'b' } }));
  assert.deepEqual(own, [['Thing.test.capstan.dev default/a', ['test.hashing(default/a)']]]);
});

test('a label that nothing reads is not named with what changed', async () => {
  const edited = await namedAfter(async (client) => {
    await client.patch(Secret, ref('other'), 'merge', { metadata: { labels: { team: 'blue' } } });
    await client.patch(Secret, ref('fs'), 'merge', { data: { value: btoa('after') } });
  });
  assert.deepEqual(
    edited.map(([object]) => object),
    ['Secret default/fs'],
  );
});
