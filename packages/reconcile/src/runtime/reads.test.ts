import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Client,
  ConfigMap,
  conditions,
  defineKind,
  type KindOf,
  type KubeObject,
  object,
  optional,
  Secret,
  string,
} from '@capstan/kube';
import { createTestLease } from '@capstan/testing';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { index } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { parseCause } from '../why/index.ts';
import { onRuntime, ref, replacing, Thing, thing } from './runtime.test-support.ts';

const configMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref(name),
  data,
});

test('the memory of a plan wakes none of its readers', async () => {
  const Note = defineKind({
    group: 'test.capstan.dev',
    version: 'v1',
    kind: 'Note',
    scope: 'Namespaced',
    spec: object({ value: string() }),
    status: object({ conditions: conditions(), seen: optional(string()) }),
    memory: object({ values: string() }),
  });
  type Note = KindOf<typeof Note>;
  let runs = 0;
  const remembering = reconciler<Note, { values: string }>({
    name: 'remembering',
    resource: Note,
    reconcile({ object: { spec }, memory }) {
      runs++;
      const values = memory.own?.values ?? '';
      return plan({ memory: { values: values.includes(spec.value) ? values : `${values}${spec.value}` } });
    },
  });
  const operators = [operator({ name: 'test', kinds: [Note], reconcilers: [remembering] })];
  await onRuntime({ operators }, async ({ client, clock }) => {
    const note = { apiVersion: Note.apiVersion, kind: 'Note', metadata: ref('a'), spec: { value: 'x' } } as Note;
    await client.create(Note, note);
    await clock.advance(5000);
    assert.deepEqual((await client.get(Note, ref('a'))).status?.memory, { values: 'x' });
    assert.equal(runs, 1);
    await client.patch(Note, ref('a'), 'merge', { status: { seen: 'by another' } }, { subresource: 'status' });
    await clock.advance(5000);
    assert.equal(runs, 1);
    await client.patch(Note, ref('a'), 'merge', { spec: { value: 'y' } });
    await clock.advance(5000);
    assert.deepEqual((await client.get(Note, ref('a'))).status?.memory, { values: 'xy' });
  });
});

test('a reader of an index is woken by what mentions its key, and by nothing else', async () => {
  const byOwner = index(ConfigMap, 'owner', ({ data }) => (data?.['owner'] ? [data['owner']] : []));
  const runs = new Map<string, number>();
  const indexing = reconciler<Thing>({
    name: 'indexing',
    resource: Thing,
    reads: [reading(ConfigMap, 'everywhere')],
    reconcile({ object: { metadata }, read }) {
      const { name = '' } = metadata;
      runs.set(name, (runs.get(name) ?? 0) + 1);
      return plan({ status: { seen: String(read.by(byOwner, name).length) } });
    },
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [indexing] })];
  const given = async (client: Client) => {
    for (const name of ['a', 'b']) await client.create(Thing, thing(name));
  };
  await onRuntime({ operators, given }, async ({ client, clock }) => {
    const before = Object.fromEntries(runs);
    await client.create(ConfigMap, configMap('of-a', { owner: 'a' }));
    await client.create(ConfigMap, configMap('of-none', {}));
    await clock.advance(1000);
    assert.deepEqual(Object.fromEntries(runs), { a: (before['a'] ?? 0) + 1, b: before['b'] });
    assert.equal((await client.get(Thing, ref('a'))).status?.seen, '1');
  });
});

test('the cause of what follows a suspension is what led to it', async () => {
  const following = reconciler<Thing>({
    name: 'following',
    resource: Thing,
    reads: [Secret],
    writes: [ConfigMap],
    reconcile({ object: { metadata, spec }, read }) {
      const found = spec.value === 'none' ? undefined : read.get(Secret, ref(spec.value));
      const data = { found: String(found !== undefined) };
      return plan({ children: [apply(ConfigMap, { metadata: ref(`${metadata.name}-child`), data })] });
    },
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [following] })];
  const given = async (client: Client) => {
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref('s') });
    await client.create(Thing, thing('a', 'none'));
  };
  await onRuntime({ operators, given }, async ({ client, clock }) => {
    await client.patch(Thing, ref('a'), 'merge', { spec: { value: 's' } });
    await clock.advance(5000);
    const child = await client.get(ConfigMap, ref('a-child'));
    assert.equal(child.data?.['found'], 'true');
    const cause = parseCause(child.metadata.annotations?.[CAUSE_ANNOTATION]);
    assert.deepEqual(
      cause?.changes.map(({ object: name, paths }) => [name, paths]),
      [['Thing.test.capstan.dev default/a', ['spec.value']]],
    );
  });
});

test('nothing is removed while the cache of what would be removed is not fresh', async () => {
  const making = reconciler<Thing>({
    name: 'making',
    resource: Thing,
    writes: [ConfigMap],
    reconcile: ({ object: { spec } }) =>
      plan({ children: spec.value === 'none' ? [] : [apply(ConfigMap, { metadata: ref('child') })] }),
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [making] })];
  const given = async (client: Client) => {
    await client.create(Thing, thing('a'));
  };
  await onRuntime({ operators, given }, async ({ client, clock, runtime }) => {
    const world = runtime.worlds.get('');
    assert.ok(world);
    const isFresh = world.isFresh.bind(world);
    let isStale = true;
    Object.assign(world, {
      isFresh: (kinds: readonly { kind: string }[], ms: number) =>
        isFresh(kinds as never, ms) && !(isStale && kinds.some(({ kind }) => kind === 'ConfigMap')),
    });
    await client.patch(Thing, ref('a'), 'merge', { spec: { value: 'none' } });
    await clock.advance(10_000);
    assert.ok(await client.find(ConfigMap, ref('child')));
    isStale = false;
    await clock.advance(10_000);
    assert.equal(await client.find(ConfigMap, ref('child')), undefined);
  });
});

test('a problem that is reported changes what the status should be, although nothing else has changed', async () => {
  const lease = createTestLease();
  await onRuntime({ leadership: () => lease.leadership }, async ({ client, clock, runtime }) => {
    await client.create(Thing, thing('a'));
    await clock.advance(1000);
    const [binding] = runtime.bindings;
    assert.ok(binding);
    const shown = async () => {
      await clock.advance(0);
      const settled = runtime.engine.valueOf(binding.writes, 'default/a');
      return settled?.state === 'value' ? settled.value.status?.conditions.map(({ reason }) => reason) : undefined;
    };
    lease.set(false);
    assert.equal(await shown(), undefined);
    binding.failures.put('default/a', { reason: 'WriteRefused', message: 'exceeded quota' });
    assert.deepEqual(await shown(), ['WriteRefused']);
    binding.failures.delete('default/a');
    assert.equal(await shown(), undefined);
  });
});

test('a request that is under way when the lease is lost is aborted', async () => {
  const lease = createTestLease();
  const signals: AbortSignal[] = [];
  const through = (client: Client) =>
    replacing(client, 'apply', (_call, _kind, _body, options) => {
      const { signal } = options as { signal: AbortSignal };
      signals.push(signal);
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
      );
    });
  await onRuntime({ through, leadership: () => lease.leadership }, async ({ client, clock }) => {
    await client.create(Thing, thing('a'));
    await clock.advance(1000);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false],
    );
    lease.set(false);
    await clock.advance(0);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true],
    );
  });
});

test('no object of a removed cluster is taken for absent', async () => {
  const seen: (number | undefined)[] = [];
  const far = reconciler<Thing>({
    name: 'far',
    resource: Thing,
    reads: [reading(ConfigMap, 'everywhere')],
    reconcile({ read }) {
      seen.push(read.list(ConfigMap).length);
      return plan();
    },
  });
  const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [far] })];
  const given = async (client: Client) => {
    await client.create(ConfigMap, configMap('x', {}));
    await client.create(Thing, thing('a'));
  };
  await onRuntime({ operators, given }, async ({ clock, runtime }) => {
    const world = runtime.worlds.get('');
    assert.ok(world);
    const table = world.readTable(ConfigMap);
    assert.ok(table);
    const listed = runtime.engine.derive<readonly KubeObject[]>({
      name: 'listed',
      compute: (_key, tracker) => tracker.list(table),
    });
    runtime.engine.hold(listed, '');
    await clock.advance(1000);
    assert.equal(runtime.engine.valueOf(listed, '')?.state, 'value');
    await world.stop();
    await clock.advance(1000);
    assert.equal(runtime.engine.valueOf(listed, '')?.state, 'suspended');
    assert.ok(!seen.includes(0));
  });
});

for (const reach of ['referenced', 'everywhere'] as const)
  test(`a read by name (${reach}) sees the objects of that name alone, and its requests name it`, async () => {
    const seen: string[] = [];
    const naming = reconciler<Thing>({
      name: 'naming',
      resource: Thing,
      reads: [reading(ConfigMap, reach, { names: ['known', 'absent'] })],
      reconcile({ read }) {
        const known = read.get(ConfigMap, ref('known'))?.data?.['x'] ?? 'none';
        return plan({ status: { seen: `${known} ${read.get(ConfigMap, ref('absent')) === undefined}` } });
      },
    });
    const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [naming] })];
    const through = (client: Client) =>
      new Proxy(client, {
        get(real, name, receiver) {
          const value = Reflect.get(real, name, receiver) as unknown;
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            if (args[0] === ConfigMap && (name === 'list' || name === 'watch')) seen.push(JSON.stringify(args[1]));
            return (value as (...given: unknown[]) => unknown).apply(real, args);
          };
        },
      });
    await onRuntime({ operators, through }, async ({ client, clock }) => {
      await client.create(ConfigMap, configMap('known', { x: '1' }));
      await client.create(ConfigMap, configMap('other', { x: '1' }));
      await client.create(Thing, thing('a'));
      await clock.advance(5000);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, '1 true');
      await client.patch(ConfigMap, ref('known'), 'merge', { data: { x: '2' } });
      await clock.advance(5000);
      assert.equal((await client.get(Thing, ref('a'))).status?.seen, '2 true');
    });
    const isNamed = (options: string) => /metadata\.name=(known|absent)"/.test(options);
    assert.ok(seen.length > 0 && seen.every(isNamed), seen.join('\n'));
  });
