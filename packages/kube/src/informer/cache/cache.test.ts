import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { ConfigMap } from '../../builtin/index.ts';
import { isRefusedChange } from '../../json/index.ts';
import { silentLogger } from '../../logger.ts';
import { createIngest } from '../ingest.ts';
import { mirror } from '../mirror.test-support.ts';
import { type Thing } from '../scripted-server.test-support.ts';
import { createStore } from '../store.ts';
import { start, things } from './informer.test-support.ts';

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
