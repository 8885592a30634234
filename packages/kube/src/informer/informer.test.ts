import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { start, things } from './cache/informer.test-support.ts';
import { apiError } from './scripted-server.test-support.ts';

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
