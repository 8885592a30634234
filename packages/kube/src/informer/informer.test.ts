import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, createVirtualClock, type VirtualClock } from '@capstan/testing';
import { ConfigMap } from '../builtin/index.ts';
import { isRefusedChange } from '../json/index.ts';
import { silentLogger } from '../logger.ts';
import type { InformerOptions } from './informer.ts';
import { createIngest } from './ingest.ts';
import { mirror } from './mirror.test-support.ts';
import { apiError, type ScriptedServer, type Thing } from './scripted-server.test-support.ts';
import { type Stage, stage } from './stage.test-support.ts';
import { createStore } from './store.ts';

const start = (
  prepare?: (server: ScriptedServer) => void,
  options?: Partial<InformerOptions<Thing>>,
): Promise<Stage<VirtualClock>> => stage(createVirtualClock(), createRandom(7), prepare, options);

const things = (count: number) => (server: ScriptedServer) => {
  for (let i = 0; i < count; i++) server.put(`t${String(i).padStart(4, '0')}`, { value: i });
};

describe('the cache of an informer', () => {
  it('readers cannot change objects from lists, watches and own writes', async () => {
    const { clock, server, informer, stop } = await start(things(2));
    const refuses = (key: string) => {
      const object = informer.get(key) as unknown as { spec: { value?: number }; metadata: { labels?: object } };
      assert.throws(() => (object.spec.value = -1), isRefusedChange);
      assert.throws(() => Object.assign(object, { added: true }), isRefusedChange);
      assert.throws(() => Object.assign(object.metadata, { name: 'changed' }), isRefusedChange);
    };
    refuses('default/t0000');
    server.put('t0001', { value: 5 });
    server.put('watched', { value: 6 });
    await clock.settle();
    refuses('default/t0001');
    refuses('default/watched');
    informer.observeWrite(server.put('own', { value: 7 }));
    refuses('default/own');
    assert.throws(() => (informer.list() as Thing[]).pop(), isRefusedChange);
    assert.equal(informer.list().length, 4);
    await stop();
  });

  it('objects are frozen even if a trim and another version share parts of them', async () => {
    const trim = (object: Thing): Thing => ({ ...object, spec: { ...object.spec } });
    const { clock, server, informer, stop } = await start(things(1), { trim });
    server.put('t0000', { value: 1 });
    await clock.settle();
    const [held] = informer.list();
    assert.ok(held && Object.isFrozen(held) && Object.isFrozen(held.spec) && Object.isFrozen(held.metadata));
    await stop();
  });
});

describe('an informer that begins', () => {
  it('a new informer lists in pages and watches from the version of the list', async () => {
    const { server, informer, mirror, assertCurrent, stop } = await start(things(1201));
    assert.equal(informer.isSynced, true);
    assert.equal(informer.size, 1201);
    assertCurrent();
    const lists = server.requests.filter(({ verb }) => verb === 'list');
    assert.deepEqual(
      lists.map(({ options }) => [options.limit, options.continue]),
      [
        [500, undefined],
        [500, `${server.version}:500`],
        [500, `${server.version}:1000`],
      ],
    );
    const watch = server.requests.at(-1)?.options;
    assert.equal(watch?.resourceVersion, String(server.version));
    assert.equal(watch.allowBookmarks, true);
    assert.ok((watch.timeoutSeconds ?? 0) >= 30 && (watch.timeoutSeconds ?? 0) <= 40);
    assert.equal(mirror.events.filter(({ type }) => type === 'synced').length, 1);
    assert.equal(informer.state().phase, 'watching');
    await stop();
    assert.equal(informer.state().phase, 'stopped');
  });

  it('a new informer takes a streamed list in a single request if the server offers one', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start((server) => {
      server.streaming = 'offers';
      things(3)(server);
    });
    assert.deepEqual(
      server.requests.map(({ verb, options }) => [verb, options.sendInitialEvents, options.resourceVersion]),
      [['watch', true, undefined]],
    );
    assert.equal(informer.isSynced, true);
    server.put('later');
    await clock.settle();
    assertCurrent();
    await stop();
  });

  it('a refused streamed list is requested only once', async () => {
    const { clock, server, assertCurrent, stop } = await start(things(2));
    server.held = true;
    server.put('new');
    server.compact();
    server.watches[0]?.cut();
    await clock.advance(5_000);
    assertCurrent();
    assert.equal(server.requests.filter(({ options }) => options.sendInitialEvents).length, 1);
    assert.equal(server.requests.filter(({ verb }) => verb === 'list').length, 2);
    await stop();
  });

  it('the informer falls back to pages if the server treats a streamed list as an ordinary watch', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start((server) => {
      server.streaming = 'ignores';
      things(3)(server);
    });
    assert.equal(informer.isSynced, false);
    assert.equal(informer.size, 0, 'nothing is shown of a list that is not complete');
    await clock.advance(32_000);
    assert.equal(informer.isSynced, true);
    assertCurrent();
    assert.equal(server.watches[0]?.isOpen, false);
    // A second chance, and no third.
    for (let i = 0; i < 2; i++) {
      server.watches.at(-1)?.send({ type: 'ERROR', object: { code: 410 } });
      await clock.advance(120_000);
      assert.equal(server.requests.filter(({ options }) => options.sendInitialEvents).length, 2);
      assertCurrent();
    }
    await stop();
  });

  it('a list whose continuation expires is restarted, and at last requested in one piece', async () => {
    const { server, assertCurrent, stop } = await start((server) => {
      things(1100)(server);
      server.fail('list', { delayMs: 0 }, { error: apiError(410, 'Expired') });
      server.fail('list', { delayMs: 0 }, { delayMs: 0 }, { error: apiError(410, 'Expired') });
    });
    assertCurrent();
    const lists = server.requests.filter(({ verb }) => verb === 'list');
    assert.deepEqual(
      lists.map(({ options }) => options.limit),
      [500, 500, 500, 500, 500, undefined],
    );
    await stop();
  });

  it('waiting for a stopped informer rejects', async () => {
    const { informer, stop } = await start((server) => server.fail('list', 'hang'));
    const waiting = assert.rejects(informer.synced());
    const impatient = new AbortController();
    const given = assert.rejects(informer.synced(impatient.signal), /enough/);
    impatient.abort(new Error('enough'));
    await given;
    await stop();
    await waiting;
    await assert.rejects(informer.synced());
  });
});

describe('an informer that watches', () => {
  it('each change is published once, with the previous object', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(things(1));
    mirror.take();
    const before = informer.get('default/t0000');
    server.put('t0000', { value: 5 });
    server.put('new');
    server.remove('new');
    await clock.settle();
    assert.deepEqual(mirror.take(), ['+default/t0000@12', '+default/new@13', '-default/new']);
    const change = mirror.events.find((event) => event.type === 'upsert' && event.object.spec.value === 5);
    assert.ok(change?.type === 'upsert' && change.old === before);
    assertCurrent();
    await stop();
  });

  it('unchanged parts keep their reference, even through a new list', async () => {
    const { clock, server, informer, stop } = await start(things(1));
    const first = informer.get('default/t0000');
    server.put('t0000', { value: 9 });
    await clock.settle();
    const second = informer.get('default/t0000');
    assert.notEqual(second, first);
    assert.equal(second?.spec.value, 9);
    assert.equal(second.spec.nested, first?.spec.nested);
    server.put('t0000', { value: 9, labels: { a: 'b' } });
    server.compact();
    server.watches[0]?.send({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    await clock.settle();
    const third = informer.get('default/t0000');
    assert.deepEqual(third?.metadata.labels, { a: 'b' });
    assert.equal(third.spec, second.spec);
    await stop();
  });

  it('a repeated batch is ignored, even if an object was deleted in between', async () => {
    const { clock, server, mirror, assertCurrent, stop } = await start();
    const created = server.put('a');
    server.watches[0]?.repeat();
    server.remove('a');
    server.watches[0]?.send({ type: 'ADDED', object: created });
    server.watches[0]?.repeat();
    await clock.settle();
    assert.deepEqual(mirror.take(), ['+default/a@11', '-default/a']);
    assertCurrent();
    await stop();
  });

  it('a recreated object is published as a deletion and a creation', async () => {
    const { clock, server, mirror, assertCurrent, stop } = await start(things(1));
    mirror.take();
    server.held = true;
    server.remove('t0000');
    server.put('t0000');
    server.compact();
    server.watches[0]?.cut();
    await clock.advance(2_000);
    assert.deepEqual(mirror.take(), ['-default/t0000', '+default/t0000@13']);
    assertCurrent();
    await stop();
  });

  it('a deletion that carries the last version of its object is accepted', async () => {
    const { clock, server, informer, stop } = await start(things(2));
    const object = informer.get('default/t0000');
    server.watches[0]?.send({ type: 'DELETED', object });
    await clock.settle();
    assert.equal(informer.get('default/t0000'), undefined);
    await stop();
  });

  it('a repeated batch is ignored if deletions carry the last version of their objects', async () => {
    const { clock, server, mirror, stop } = await start();
    const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '11' };
    const object = { apiVersion: 'test.io/v1', kind: 'Thing', metadata };
    server.watches[0]?.send({ type: 'ADDED', object }, { type: 'DELETED', object });
    server.watches[0]?.repeat();
    await clock.settle();
    assert.deepEqual(mirror.take(), ['+default/a@11', '-default/a']);
    await stop();
  });

  it('the informer follows objects that enter and leave its selector', async () => {
    const { clock, server, mirror, assertCurrent, stop } = await start(
      (server) => {
        server.put('in', { labels: { app: 'x' } });
        server.put('out');
      },
      { labelSelector: 'app=x' },
    );
    mirror.take();
    server.put('out', { labels: { app: 'x' } });
    server.put('in');
    await clock.settle();
    assert.deepEqual(mirror.take(), ['+default/out@13', '-default/in']);
    assertCurrent();
    await stop();
  });

  it('versions that are not numbers are used in the order of arrival', async () => {
    const { clock, server, informer, stop } = await start(things(1));
    const object = informer.get('default/t0000');
    assert.ok(object);
    for (const resourceVersion of ['zz', 'aa', 'aa']) {
      const metadata = { ...object.metadata, resourceVersion };
      server.watches[0]?.send({ type: 'MODIFIED', object: { ...object, metadata } });
    }
    await clock.settle();
    assert.equal(informer.get('default/t0000')?.metadata.resourceVersion, 'aa');
    await stop();
  });
});

describe('the memory of the cache', () => {
  const managedFields = [
    { manager: 'capstan-web', operation: 'Apply' as const, fieldsV1: { 'f:spec': {} } },
    { manager: 'kubectl', operation: 'Update' as const, fieldsV1: { 'f:spec': {} } },
    { manager: 'capstan-web', operation: 'Update' as const, subresource: 'status', fieldsV1: { 'f:status': {} } },
  ];

  it('the cache keeps only our own managedFields, and none of a status', async () => {
    const { informer, server, stop } = await start((server) => server.put('a', { managedFields }), {
      ownManagers: ['capstan-'],
    });
    assert.deepEqual(informer.get('default/a')?.metadata.managedFields, managedFields.slice(0, 1));
    assert.equal(
      server.content().get('default/a')?.metadata.managedFields?.length,
      3,
      'what was received is not changed',
    );
    await stop();
  });

  it('the cache keeps no managedFields by default', async () => {
    const { informer, stop } = await start((server) => server.put('a', { managedFields }));
    assert.equal(Object.hasOwn(informer.get('default/a')?.metadata ?? {}, 'managedFields'), false);
    await stop();
  });

  it('the cache stores equal metadata of siblings once', async () => {
    const { informer, stop } = await start((server) => {
      for (const name of ['a', 'b']) server.put(name, { labels: { app: 'x', tier: 'y' }, managedFields });
      server.put('c', { labels: { app: 'z' } });
    });
    const [a, b, c] = informer.list();
    assert.equal(b?.metadata.labels, a?.metadata.labels);
    assert.deepEqual(c?.metadata.labels, { app: 'z' });
    await stop();
  });

  it('the cache stores equal content of siblings once', async () => {
    const { informer, stop } = await start((server) => {
      for (const [name, value] of [
        ['a', 1],
        ['b', 1],
        ['c', 2],
      ] as const)
        server.put(name, { value });
    });
    const [a, b, c] = informer.list();
    assert.equal(b?.spec, a?.spec);
    assert.equal(c?.spec.value, 2);
    assert.equal(c?.spec.nested, a?.spec.nested);
    assert.equal(b?.metadata.name, 'b');
    await stop();
  });

  it('the cache stores equal managedFields of siblings once', async () => {
    const entry = (own: string) => [
      { manager: 'capstan-web', operation: 'Apply' as const, fieldsV1: { 'f:data': { 'f:x': {} }, [own]: {} } },
    ];
    const { informer, stop } = await start(
      (server) => {
        for (const name of ['a', 'b']) server.put(name, { managedFields: entry(`f:${name}`) });
      },
      { ownManagers: ['capstan-'] },
    );
    const [a, b] = informer.list().map(({ metadata }) => metadata.managedFields?.[0]?.fieldsV1);
    assert.equal(b?.['f:data'], a?.['f:data']);
    assert.deepEqual(b, { 'f:data': { 'f:x': {} }, 'f:b': {} });
    await stop();
  });

  it('the cache stores the result of trim, or the whole object if trim fails', async () => {
    const trimming = await start(things(2), {
      trim: (object) => ({ ...object, spec: { value: object.spec.value } }),
    });
    assert.deepEqual(trimming.informer.get('default/t0001')?.spec, { value: 1 });
    await trimming.stop();
    const harmful = await start(things(2), { trim: (object) => ({ ...object, metadata: {} }) });
    harmful.assertCurrent();
    assert.equal(harmful.logs.filter(({ level }) => level === 'error').length, 1, 'and it is said once');
    await harmful.stop();
  });

  it('a metadata-only informer stores metadata under the kind’s own name, own writes included', async () => {
    const { server, informer, stop } = await start(things(1), { metadataOnly: true });
    assert.deepEqual(Object.keys(informer.get('default/t0000') ?? {}), ['apiVersion', 'kind', 'metadata']);
    assert.ok(server.requests.every(({ options }) => options.metadataOnly));
    server.held = true;
    informer.observeWrite(server.put('own'));
    assert.deepEqual(Object.keys(informer.get('default/own') ?? {}), ['apiVersion', 'kind', 'metadata']);
    await stop();
  });
});

describe('listeners', () => {
  it('a late listener first gets the current content, then every change once', async () => {
    const { clock, server, informer, stop } = await start(things(2));
    const late = mirror(informer);
    assert.equal(late.objects.size, 2);
    assert.deepEqual(
      late.states.map(({ phase }) => phase),
      ['watching'],
    );
    server.put('t0001');
    await clock.settle();
    assert.equal(late.take().length, 3);
    late.assertEqual();
    await stop();
  });

  it('a listener that throws is reported and does not affect the others', async () => {
    const { clock, server, informer, logs, stop } = await start();
    informer.subscribe(() => {
      throw new Error('broken listener');
    });
    const other = mirror(informer);
    server.put('a');
    await clock.settle();
    assert.deepEqual(other.take(), ['+default/a@11']);
    assert.ok(
      logs.some(({ level, fields }) => level === 'error' && String(fields?.['error']).includes('broken listener')),
    );
    await stop();
  });

  it('listeners see changes in one order, even those that a listener causes', async () => {
    const { clock, server, informer, stop } = await start();
    let joined: ReturnType<typeof mirror<Thing>> | undefined;
    let leave = () => {};
    let seenByLeaver = 0;
    informer.subscribe((events) => {
      for (const event of events) {
        if (event.type !== 'upsert' || event.key !== 'default/a') continue;
        server.held = true;
        informer.observeWrite(server.put('b'));
        joined = mirror(informer);
        leave();
      }
    });
    leave = informer.subscribe((events) => {
      seenByLeaver += events.filter(({ type }) => type === 'upsert').length;
    });
    const after = mirror(informer);
    server.put('a');
    await clock.settle();
    assert.deepEqual(after.take(), ['+default/a@11', '+default/b@12']);
    assert.deepEqual(joined?.take(), ['+default/a@11', '+default/b@12']);
    assert.equal(seenByLeaver, 0);
    joined?.assertEqual();
    await stop();
  });
});

it('a list that was taken in keeps none of its objects, because its stream may last for hours', () => {
  const store = createStore(createIngest({ kind: ConfigMap, logger: silentLogger }), createVirtualClock());
  const listing = store.beginListing();
  const raw = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid: '1', resourceVersion: '1' } };
  listing.add(raw);
  listing.commit('1', []);
  assert.deepEqual([store.size, listing.count], [1, 0]);
});
