import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, CustomResourceDefinition, createClient, findCondition, Secret, silentLogger } from '@capstan/kube';
import { createRandom, createStage, createTestCluster, createVirtualClock, recordingTransport } from '@capstan/testing';
import { createLeaderElection } from '../../leadership/index.ts';
import { operator } from '../../operator.ts';
import { apply, plan } from '../../plan/index.ts';
import { reading, reconciler } from '../../reconciler.ts';
import { createRuntime } from '../runtime.ts';
import { Absent, Copy, copy, Duplicate, operators, ref, source } from './several-worlds.test-support.ts';

const copyOf = (spec: Copy['spec'], name = 'c'): Copy => ({
  apiVersion: Copy.apiVersion,
  kind: 'Copy',
  metadata: ref(name),
  spec,
});

const secretOf = (name: string, text: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: ref(name),
  data: { text },
});

describe('several worlds', () => {
  test('are read side by side, and come and go while running', async () => {
    const stage = await createStage({
      operators,
      world: { name: 'here' },
      given: async (client) => void (await client.create(Copy, copyOf({ from: 'there' }))),
    });
    const text = async () => (await stage.client.get(Copy, ref('c'))).status?.text;
    assert.equal(await text(), 'worlds: here');
    const { clock, random, program } = stage;
    const there = await createTestCluster({ clock, random, operators });
    await there.client.create(ConfigMap, source('one'));
    const client = createClient({ transport: there.transport(), clock, random });
    program.runtime.addWorld({ name: 'there', client, operators: [] });
    await stage.settle();
    assert.equal(await text(), 'one');
    await there.client.update(ConfigMap, source('two'));
    await stage.settle();
    assert.equal(await text(), 'two');
    assert.equal((await stage.client.get(ConfigMap, ref('c-copy'))).data?.['text'], 'two');
    await program.runtime.removeWorld('there');
    await stage.settle();
    assert.equal(await text(), 'worlds: here');
    await stage.end();
    await there.close();
  });

  test('several worlds that come and go leave nothing behind', async () => {
    const stage = await createStage({
      operators,
      world: { name: 'here' },
      given: async (client) => void (await client.create(Copy, copyOf({ from: 'there' }))),
    });
    const { clock, random, program } = stage;
    const before = program.runtime.engine.stats();
    const there = await createTestCluster({ clock, random, operators });
    await there.client.create(ConfigMap, source('one'));
    await there.client.create(Copy, copyOf({ from: 'here' }));
    for (let round = 0; round < 3; round++) {
      program.runtime.addWorld({
        name: 'there',
        client: createClient({ transport: there.transport(), clock, random }),
      });
      await stage.settle();
      assert.equal((await stage.client.get(Copy, ref('c'))).status?.text, 'one');
      await program.runtime.removeWorld('there');
      await stage.settle();
      assert.equal((await stage.client.get(Copy, ref('c'))).status?.text, 'worlds: here');
    }
    const { tables, nodes, edges, queries, cells } = program.runtime.engine.stats();
    assert.deepEqual(
      { tables, nodes, edges, queries },
      { tables: before.tables, nodes: before.nodes, edges: before.edges, queries: before.queries },
    );
    assert.ok(cells <= before.cells + 1, `${cells} cells after, ${before.cells} before`);
    await stage.end();
    await there.close();
  });

  test('several worlds that cannot be reached suspend their readers, and nothing is pruned', async () => {
    const stage = await createStage({
      operators,
      world: { name: 'here' },
      given: async (client) => void (await client.create(Copy, copyOf({ from: 'here' }))),
    });
    assert.ok(await stage.client.find(ConfigMap, ref('c-copy')));
    const { clock, random, program } = stage;
    const dead = await createTestCluster({ clock, random });
    const client = createClient({ transport: dead.transport(), clock, random });
    await dead.close();
    program.runtime.addWorld({ name: 'there', client, operators: [] });
    await stage.client.patch(Copy, ref('c'), 'merge', { spec: { from: 'there' } });
    stage.transport.clear();
    await clock.advance(120_000);
    assert.equal(stage.transport.writes.length, 1, stage.transport.writes.join());
    const { status } = await stage.client.get(Copy, ref('c'));
    assert.match(
      findCondition(status?.conditions, 'Waiting')?.message ?? '',
      /^waiting for there\/ConfigMap.* since \d{4}-.*Z/,
    );
    assert.ok(await stage.client.find(ConfigMap, ref('c-copy')));
    const [waiting] = program.runtime.status().reconcilers.flatMap(({ suspended }) => suspended);
    assert.equal(waiting?.key, 'default/c');
    assert.match(waiting?.waitingFor.join(), /there\/ConfigMap/);
    await stage.end();
  });
});

describe('referenced data', () => {
  test('is fetched when something reads it, followed, and its absence is an answer', async () => {
    const stage = await createStage({
      operators,
      given: async (client) => {
        for (const name of ['s', 'unread']) await client.create(Secret, secretOf(name, 'b25l'));
        await client.create(Copy, copyOf({ secret: 's' }));
      },
    });
    const text = async () => (await stage.client.get(Copy, ref('c'))).status?.text;
    assert.equal(await text(), 'present');
    const gets = () => stage.transport.requests.filter((line) => line.startsWith('GET') && line.includes('/secrets/'));
    assert.deepEqual(gets(), ['GET /api/v1/namespaces/default/secrets/s']);
    await stage.client.delete(Secret, ref('s'));
    await stage.settle();
    assert.equal(await text(), 'absent');
    await stage.client.create(Secret, secretOf('s', 'dHdv'));
    await stage.settle();
    assert.equal(await text(), 'present');
    assert.equal(gets().length, 2);
    await stage.end();
  });
});

describe('a kind that is not served', () => {
  test('is a value for who asks, and holds up nothing else', async () => {
    const stage = await createStage({
      operators,
      given: async (client) => void (await client.create(Copy, copyOf({ from: 'access' }))),
    });
    assert.equal((await stage.client.get(Copy, ref('c'))).status?.text, 'not-served');
    await stage.end();
  });

  test('is looked at as soon as it is installed, where definitions are read', async () => {
    const watcher = { ...copy, reads: [...copy.reads, reading(CustomResourceDefinition, 'everywhere')] };
    const stage = await createStage({
      operators: [operator({ name: 'test', kinds: [Copy, Duplicate], reconcilers: [watcher] })],
      given: async (client) => void (await client.create(Copy, copyOf({ from: 'access' }))),
    });
    const text = async () => (await stage.client.get(Copy, ref('c'))).status?.text;
    // By then it is asked for only now and then.
    await stage.clock.advance(300_000);
    assert.equal(await text(), 'not-served');
    const { group, version, kind, plural, scope } = Absent;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await stage.client.create(CustomResourceDefinition, {
      apiVersion: CustomResourceDefinition.apiVersion,
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope,
        names: { kind, plural, singular: 'absent', listKind: 'AbsentList' },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
    await stage.clock.advance(1000);
    await stage.settle();
    assert.equal(await text(), 'served');
    await stage.end();
  });
});

describe('a namespace that is not watched', () => {
  test('is not taken for an empty one: what reads there waits, and says so', async () => {
    const elsewhere = reconciler<ConfigMap>({
      name: 'elsewhere',
      resource: ConfigMap,
      reads: [Secret],
      writes: [ConfigMap],
      reconcile({ object: { metadata, data = {} }, read }) {
        const { name = '', namespace = '' } = metadata;
        if (!data['from']) return plan({});
        const found =
          read.get(Secret, { namespace: data['from'], name: 's' }, (secret) => secret.metadata.name) ?? 'absent';
        return plan({
          children: [apply(ConfigMap, { metadata: { name: `${name}-made`, namespace }, data: { found } })],
        });
      },
    });
    const owner = (name: string, from: string): ConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: ref(name),
      data: { from },
    });
    const stage = await createStage({
      operators: [operator({ name: 'test', kinds: [], reconcilers: [elsewhere] })],
      world: { watchNamespaces: ['default'] },
      given: async (client) => {
        await client.create(ConfigMap, owner('near', 'default'));
        await client.create(ConfigMap, owner('far', 'kube-system'));
      },
    });
    assert.equal((await stage.client.get(ConfigMap, ref('near-made'))).data?.['found'], 'absent');
    assert.equal(await stage.client.find(ConfigMap, ref('far-made')), undefined);
    const [waiting] = stage.program.runtime.status().reconcilers.flatMap(({ suspended }) => suspended);
    assert.match(waiting?.waitingFor.join() ?? '', /outside the watched namespaces\/Secret kube-system\/s/);
    await stage.end();
  });
});

describe('leadership', () => {
  test('gates writes and not computation: on gaining the lease what is pending goes out as it is', async () => {
    const clock = createVirtualClock();
    const random = createRandom(1);
    const cluster = await createTestCluster({ clock, random, operators });
    await cluster.client.create(Copy, copyOf({}));
    const start = (identity: string) => {
      const transport = recordingTransport(cluster.transport());
      const client = createClient({ transport, clock, random });
      const lease = { namespace: 'default', name: 'capstan-test' };
      const leadership = createLeaderElection({ client, clock, random, lease, identity });
      const runtime = createRuntime({ operators, clock, random, logger: silentLogger, leadership: () => leadership });
      runtime.addWorld({ name: '', client });
      const stop = new AbortController();
      return { transport, runtime, leadership, stop, done: runtime.run(stop.signal) };
    };
    const statusWrites = (lines: readonly string[]) => lines.filter((line) => line.endsWith('/status')).length;
    const first = start('first');
    await clock.advance(1000);
    const second = start('second');
    await clock.advance(5000);
    assert.equal(statusWrites(first.transport.writes), 1);
    assert.equal(second.leadership.holds, false);
    await cluster.client.patch(Copy, ref('c'), 'merge', { spec: { from: 'access' } });
    first.stop.abort();
    await clock.advance(100);
    await first.done;
    await clock.advance(30_000);
    assert.equal(second.leadership.holds, true);
    assert.equal((await cluster.client.get(Copy, ref('c'))).status?.text, 'not-served');
    second.stop.abort();
    await clock.advance(100);
    await second.done;
    await cluster.close();
  });
});
