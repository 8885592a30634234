import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, ConfigMap, type Kind, type KubeObject, Secret, Service } from '@capstan/kube';
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
/** A thing's child has a digest of two Secrets, a ConfigMap and the objects that its spec names. */
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

/** Returns the names in the cause of the child after an edit while nothing ran. */
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

test('a change while nothing ran is named after the restart, and nothing else', async () => {
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

/** Every ConfigMap that is labelled as a part counts; the Service has the port alone, and the ConfigMap all but the port. */
const summing = reconciler<Thing>({
  name: 'summing',
  resource: Thing,
  reads: [reading(ConfigMap, 'everywhere')],
  writes: [ConfigMap, Service],
  reconcile({ object: { metadata, spec }, read }) {
    const parts = read.list(ConfigMap, { namespace: 'default', labels: 'part' }, dataOf);
    const texts = parts.map((data) => data?.['text'] ?? '').filter((text) => text !== '');
    const port = read.get(ConfigMap, ref('port'), dataOf)?.['port'] ?? '80';
    const child = ref(`${metadata.name}-child`);
    return plan({
      children: [
        apply(ConfigMap, { metadata: child, data: { texts: [...texts, spec.value].join(' ') } }),
        apply(Service, { metadata: child, spec: { ports: [{ port: Number(port) }] } }),
      ],
    });
  },
});
const part = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...ref(name), labels: { part: 'true' } },
  data,
});

type Edit = (client: Client) => Promise<unknown>;

/** The causes of both children after each edit was made: while it ran, or while it was away. */
async function causesAfter(...edits: readonly (readonly ['online' | 'away', Edit])[]) {
  const lives = await createLives({
    operators: [operator({ name: 'test', kinds: [Thing], reconcilers: [summing] })],
    async given(client) {
      for (const name of ['one', 'two']) await client.create(ConfigMap, part(name, { text: name }));
      await client.create(ConfigMap, { ...part('port', { port: '80' }), metadata: ref('port') });
      await client.create(Thing, thing('a'));
    },
  });
  try {
    let life = await lives.begin();
    await life.settle();
    for (const [when, edit] of edits) {
      await lives.clock.advance(5000);
      if (when === 'away') await life.end();
      await edit(lives.client);
      if (when === 'away') life = await lives.begin();
      await life.settle();
    }
    await life.end();
    const named = async (kind: Kind) => {
      const { metadata } = await lives.client.get<KubeObject>(kind, ref('a-child'));
      const { changes = [] } = parseCause(metadata.annotations?.[CAUSE_ANNOTATION]) ?? {};
      return changes.map(({ object, from, to }) => {
        const how = from === 'absent' ? 'created' : to === 'absent' ? 'removed' : 'changed';
        return `${object.replace(' default/', ' ')} ${how}`;
      });
    };
    return { map: await named(ConfigMap), service: await named(Service) };
  } finally {
    await lives.close();
  }
}

const write =
  (name: string, data: Record<string, string>): Edit =>
  (client) =>
    client.patch(ConfigMap, ref(name), 'merge', { data });
const all =
  (...edits: readonly Edit[]): Edit =>
  async (client) => {
    for (const edit of edits) await edit(client);
  };
const removeTwo: Edit = (client) => client.delete(ConfigMap, ref('two'));

test('an input that was removed or created while nothing ran is named', async () => {
  assert.deepEqual((await causesAfter(['away', removeTwo])).map, ['ConfigMap two removed']);
  const added = await causesAfter(['away', (client) => client.create(ConfigMap, part('three', { text: 'three' }))]);
  assert.deepEqual(added.map, ['ConfigMap three created']);
  const unlabelled: Edit = (client) =>
    client.patch(ConfigMap, ref('two'), 'merge', { metadata: { labels: { part: null } } });
  assert.deepEqual((await causesAfter(['away', unlabelled])).map, ['ConfigMap two changed']);
});

test('several inputs that changed while nothing ran are all named', async () => {
  const edits = all(
    removeTwo,
    write('one', { text: 'other' }),
    (client) => client.create(ConfigMap, part('three', { text: 'three' })),
    (client) => client.patch(Thing, ref('a'), 'merge', { spec: { value: 'b' } }),
  );
  assert.deepEqual((await causesAfter(['away', edits])).map.sort(), [
    'ConfigMap one changed',
    'ConfigMap three created',
    'ConfigMap two removed',
    'Thing.test.capstan.dev a changed',
  ]);
});

test('a child does not name what changed before and did not concern it', async () => {
  const { map, service } = await causesAfter(
    ['online', write('one', { text: 'other' })],
    ['online', (client) => client.patch(Thing, ref('a'), 'merge', { spec: { value: 'b' } })],
    ['away', write('port', { port: '81' })],
  );
  assert.deepEqual(service, ['ConfigMap port changed']);
  assert.deepEqual(map, ['Thing.test.capstan.dev a changed']);
});

test('a child that another client changed or removed while nothing ran is the cause itself', async () => {
  const changed = await causesAfter(['away', all(write('a-child', { texts: 'x' }), write('port', { port: '81' }))]);
  assert.deepEqual(changed, { map: ['ConfigMap a-child changed'], service: ['ConfigMap port changed'] });
  const remove: Edit = (client) => client.delete(ConfigMap, ref('a-child'));
  const removed = await causesAfter(['online', write('port', { port: '81' })], ['away', remove]);
  assert.deepEqual(removed.map, ['ConfigMap a-child removed']);
  // Both were created at once: a process that ended in between looks the same.
  assert.deepEqual((await causesAfter(['away', remove])).map, []);
});

const pausing =
  (kind: Kind, name: string, value: string | null): Edit =>
  (client) =>
    client.patch(kind, ref(name), 'merge', { metadata: { annotations: { 'capstan.dev/paused': value } } });

test('the edits that were made while an owner was paused are named once it goes on, also after a restart', async () => {
  const untouched = await causesAfter();
  for (const when of ['online', 'away'] as const) {
    const { map, service } = await causesAfter(
      [when, pausing(Thing, 'a', 'true')],
      ['online', write('one', { text: 'other' })],
      [when, removeTwo],
      [when, pausing(Thing, 'a', null)],
    );
    assert.deepEqual(map.toSorted(), ['ConfigMap one changed', 'ConfigMap two removed'], when);
    assert.deepEqual(service, untouched.service, when);
  }
});

test('an edit of a paused owner itself is named, and one that was taken back is not', async () => {
  const { map } = await causesAfter(
    ['online', pausing(Thing, 'a', 'true')],
    ['online', write('one', { text: 'other' })],
    ['online', (client) => client.patch(Thing, ref('a'), 'merge', { spec: { value: 'b' } })],
    ['online', write('one', { text: 'one' })],
    ['online', pausing(Thing, 'a', null)],
  );
  assert.deepEqual(map, ['Thing.test.capstan.dev a changed']);
});

test('a child that was paused names the edits that it missed, although its siblings were written meanwhile', async () => {
  for (const when of ['online', 'away'] as const) {
    const { map, service } = await causesAfter(
      ['online', pausing(ConfigMap, 'a-child', 'true')],
      [when, write('one', { text: 'other' })],
      ['online', write('port', { port: '81' })],
      [when, pausing(ConfigMap, 'a-child', null)],
    );
    assert.ok(map.includes('ConfigMap one changed'), `${when}: ${map.join(', ')}`);
    assert.deepEqual(service, ['ConfigMap port changed'], when);
  }
});
