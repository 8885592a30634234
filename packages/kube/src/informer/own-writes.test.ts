import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, createVirtualClock, type VirtualClock } from '@capstan/testing';
import type { InformerOptions } from './informer.ts';
import { apiError, type ScriptedServer, type Thing } from './scripted-server.test-support.ts';
import { type Stage, stage } from './stage.test-support.ts';

const start = (
  prepare?: (server: ScriptedServer) => void,
  options?: Partial<InformerOptions<Thing>>,
): Promise<Stage<VirtualClock>> => stage(createVirtualClock(), createRandom(3), prepare, options);

const one = (server: ScriptedServer) => void server.put('a');

describe('an own write', () => {
  it('an own write is seen at once, and its watch event is not published again', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    mirror.take();
    server.held = true;
    informer.observeWrite(server.put('a', { value: 1 }));
    informer.observeWrite(server.put('b'));
    assert.equal(informer.get('default/a')?.spec.value, 1);
    assert.ok(informer.get('default/b'));
    assert.deepEqual(mirror.take(), ['+default/a@12', '+default/b@13']);
    server.release();
    await clock.settle();
    assert.deepEqual(mirror.take(), []);
    assertCurrent();
    await stop();
  });

  it('an own write shares its parts with the copy, even if the watch shows it before the answer', async () => {
    const { clock, server, informer, stop } = await start(one);
    const cached = informer.get('default/a');
    assert.ok(cached);
    const sent = { ...cached, spec: { ...cached.spec, value: 7 } };
    const end = informer.sending(sent);
    server.put('a', { value: 7 });
    await clock.settle();
    assert.equal(informer.get('default/a')?.spec, sent.spec);
    end();
    server.put('a', { value: 8 });
    server.put('a', { value: 7 });
    await clock.settle();
    assert.notEqual(informer.get('default/a')?.spec, sent.spec, 'what was sent is forgotten');
    assert.deepEqual(informer.get('default/a')?.spec, sent.spec);
    await stop();
  });

  it('an own write is not undone by older events that arrive after it', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    mirror.take();
    server.held = true;
    server.put('a', { value: 1 });
    server.remove('a');
    const own = server.put('a', { value: 2 });
    informer.observeWrite(own);
    server.put('a', { value: 3 });
    assert.deepEqual(mirror.take(), ['-default/a', `+default/a@${own.metadata.resourceVersion}`]);
    server.release();
    await clock.settle();
    assert.deepEqual(mirror.take(), [`+default/a@${server.version}`]);
    assertCurrent();
    await stop();
  });

  it('an own write does not restore an object that was deleted since', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start();
    const answer = server.put('a');
    server.remove('a');
    await clock.settle();
    informer.observeWrite(answer);
    assert.equal(informer.size, 0);
    assertCurrent();
    await stop();
  });

  it('an own write that is older than the copy changes nothing', async () => {
    const { clock, server, informer, mirror, stop } = await start();
    const answer = server.put('a', { value: 1 });
    server.put('a', { value: 2 });
    await clock.settle();
    mirror.take();
    informer.observeWrite(answer);
    assert.equal(informer.get('default/a')?.spec.value, 2);
    assert.deepEqual(mirror.take(), []);
    await stop();
  });

  it('an own write survives an older list and ends with a newer one', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    mirror.take();
    server.held = true;
    server.fail('list', { delayMs: 0 });
    // The list is read now, the write comes before its second page.
    server.fail('watch', { error: apiError(410, 'Expired') });
    server.watches[0]?.end();
    server.latencyMs = 1_000;
    await clock.advance(900);
    server.held = false;
    informer.observeWrite(server.put('own'));
    await clock.advance(5_000);
    assert.equal(mirror.take().filter((line) => line === '-default/own').length, 0);
    assertCurrent();

    server.held = true;
    informer.observeWrite(server.put('brief'));
    server.remove('brief');
    server.compact();
    server.watches.at(-1)?.cut();
    await clock.advance(60_000);
    assert.ok(mirror.take().includes('-default/brief'));
    assertCurrent();
    await stop();
  });

  it('an own write between the pages of a list is newer than the list', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(
      (server) => {
        for (const name of ['a', 'b', 'c']) server.put(name);
        server.latencyMs = 100;
      },
      { pageSize: 1, streaming: false },
    );
    await clock.advance(150);
    informer.observeWrite(server.put('c', { value: 9 }));
    informer.observeWrite(server.put('d'));
    const removed = server.remove('b');
    informer.observeDelete({ namespace: 'default', name: 'b' }, removed?.metadata.uid ?? '');
    await clock.advance(150);
    assert.equal(informer.isSynced, true);
    assert.equal(informer.get('default/c')?.spec.value, 9);
    assert.ok(informer.get('default/d'));
    assert.equal(informer.get('default/b'), undefined);
    await clock.advance(100);
    assertCurrent();
    const reported = mirror.take();
    assert.ok(!reported.includes('+default/b@12'));
    assert.ok(!reported.includes('-default/d'));
    await stop();
  });

  it('an own write before the first list is not undone by that list or later events', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(
      (server) => {
        for (const name of ['a', 'b']) server.put(name, { labels: { app: 'x' } });
        server.latencyMs = 100;
      },
      { pageSize: 1, streaming: false, labelSelector: 'app=x' },
    );
    await clock.advance(100);
    // The first page is there, so the list shows nothing of this.
    for (const name of ['c', 'd']) {
      informer.observeWrite(server.put(name, { labels: { app: 'x' } }));
      informer.observeWrite(server.put(name));
    }
    await clock.advance(1_000);
    const reported = mirror.take().filter((line) => /\/[cd]/.test(line));
    assert.deepEqual(reported, ['+default/c@13', '-default/c', '+default/d@15', '-default/d']);
    assertCurrent();
    await stop();
  });

  it('an own write outside the namespace or selector is ignored, because no event would remove it', async () => {
    const selections: [Partial<InformerOptions<Thing>>, boolean][] = [
      [{ namespace: 'other' }, false],
      [{ namespace: 'default' }, true],
      [{ labelSelector: 'app=y' }, false],
      [{ labelSelector: 'app in (x, y),!z' }, true],
      [{ fieldSelector: 'metadata.name=b' }, false],
      [{ fieldSelector: 'metadata.name=a' }, true],
      [{ fieldSelector: 'spec.value=0' }, false],
    ];
    for (const [selection, enters] of selections) {
      const { server, informer, stop } = await start(() => {}, selection);
      server.held = true;
      informer.observeWrite(server.put('a', { labels: { app: 'x' } }));
      assert.equal(informer.size, enters ? 1 : 0, JSON.stringify(selection));
      await stop();
    }
  });

  it('an own write whose version cannot be compared waits for the watch', async () => {
    const { server, informer, stop } = await start(one);
    const object = server.content().get('default/a');
    assert.ok(object);
    informer.observeWrite({ ...object, metadata: { ...object.metadata, resourceVersion: 'abc' } });
    assert.equal(informer.get('default/a')?.metadata.resourceVersion, '11');
    await stop();
  });
});

describe('an own deletion', () => {
  it('an own deletion is seen at once, and delayed events do not restore the object', async () => {
    for (const knowsVersion of [true, false]) {
      const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
      mirror.take();
      server.held = true;
      server.put('a', { value: 1 });
      const gone = server.remove('a');
      const version = knowsVersion ? [String(server.version)] : [];
      informer.observeDelete({ namespace: 'default', name: 'a' }, gone?.metadata.uid ?? '', ...version);
      assert.equal(informer.size, 0);
      server.release();
      await clock.settle();
      assert.deepEqual(mirror.take(), ['-default/a']);
      assertCurrent();
      server.put('a', { value: 2 });
      await clock.settle();
      assert.deepEqual(mirror.take(), [`+default/a@${server.version}`]);
      await stop();
    }
  });

  it('an own deletion of an object that the watch has not shown hides it and its predecessors', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    mirror.take();
    server.held = true;
    server.put('a', { value: 1 });
    server.remove('a');
    informer.observeWrite(server.put('a', { value: 2 }));
    const gone = server.remove('a');
    informer.observeDelete({ namespace: 'default', name: 'a' }, gone?.metadata.uid ?? '');
    server.release();
    await clock.settle();
    assert.deepEqual(mirror.take(), ['-default/a', '+default/a@14', '-default/a']);
    assertCurrent();
    await stop();
  });

  it('two own deletions in a row hide both objects, even an unseen version of the first', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    mirror.take();
    server.held = true;
    const remove = () =>
      informer.observeDelete({ namespace: 'default', name: 'a' }, server.remove('a')?.metadata.uid ?? '');
    informer.observeWrite(server.put('a', { value: 1 }));
    server.put('a', { value: 2 });
    remove();
    server.put('a', { value: 3 });
    remove();
    server.release();
    await clock.settle();
    assert.deepEqual(mirror.take(), ['+default/a@12', '-default/a']);
    assertCurrent();
    await stop();
  });

  it('own deletions do not hide objects of a server that was restored from a backup', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start(one);
    server.held = true;
    server.put('a');
    informer.observeDelete({ namespace: 'default', name: 'a' }, server.remove('a')?.metadata.uid ?? '', '13');
    server.fail('watch', {
      error: apiError(504, 'Timeout', { message: 'Too large resource version: 11, current: 4' }),
    });
    server.restore(3);
    server.put('a');
    server.release();
    await clock.advance(5_000);
    assert.equal(informer.size, 1);
    assertCurrent();
    await stop();
  });

  it('an own deletion of an older object keeps its successor', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start(one);
    const gone = server.remove('a');
    server.put('a');
    await clock.settle();
    informer.observeDelete({ namespace: 'default', name: 'a' }, gone?.metadata.uid ?? '');
    assert.equal(informer.size, 1);
    server.put('a', { value: 5 });
    await clock.settle();
    assertCurrent();
    await stop();
  });
});
