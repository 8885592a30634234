import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TransportError } from '../../errors.ts';
import { apiError, type Fault } from '../scripted-server.test-support.ts';
import { countOf, one, start } from './failures.test-support.ts';

describe('an interrupted watch', () => {
  it('an interrupted watch resumes from the last version, with no event lost or published twice', async () => {
    const { clock, server, mirror, assertCurrent, stop } = await start(one);
    server.put('b');
    await clock.settle();
    server.watches[0]?.cut();
    server.put('c');
    await clock.advance(1_000);
    assert.equal(server.watches[1]?.options.resourceVersion, '12');
    assert.deepEqual(mirror.take(), ['+default/a@11', '+default/b@12', '+default/c@13']);
    assert.equal(countOf(server, 'list'), 1);
    assertCurrent();
    await stop();
  });

  it('a watch without events resumes from the last bookmark', async () => {
    const { clock, server, stop } = await start(one);
    server.held = true;
    for (let i = 0; i < 5; i++) server.put('b');
    server.held = false;
    server.watches[0]?.bookmark();
    server.compact();
    await clock.settle();
    server.watches[0]?.cut();
    await clock.advance(1_000);
    assert.equal(server.watches[1]?.options.resourceVersion, '16');
    assert.equal(countOf(server, 'list'), 1);
    await stop();
  });

  it('a watch is reopened at once after an orderly end, but not in a tight loop', async () => {
    const { clock, server, informer, stop } = await start(one);
    server.put('b');
    await clock.settle();
    server.watches[0]?.end();
    await clock.settle();
    assert.equal(server.watches.length, 2);
    assert.equal(informer.state().phase, 'watching');
    server.put('c');
    await clock.settle();
    server.watches[1]?.end();
    await clock.settle();
    assert.equal(server.watches.length, 2);
    assert.equal(informer.state().phase, 'waiting');
    assert.equal(informer.state().reason, undefined);
    await clock.advance(801);
    assert.equal(server.watches.length, 3);
    await clock.advance(25_000);
    server.watches[2]?.end();
    await clock.settle();
    assert.equal(server.watches.length, 4, '25 healthy seconds earn another one at once');
    await stop();
  });

  it('each wait is longer than the last, and a healthy watch shortens it again', async () => {
    const { clock, server, stop } = await start(one);
    const waits: number[] = [];
    const cutAndWait = async () => {
      const seen = server.watches.length;
      const from = clock.now();
      server.watches.at(-1)?.cut();
      await clock.runUntilIdle(60_000, () => server.watches.length > seen);
      waits.push(clock.now() - from);
    };
    for (let i = 0; i < 8; i++) await cutAndWait();
    for (const [i, wait] of waits.entries()) {
      const base = Math.min(800 * 2 ** i, 30_000);
      assert.ok(wait >= base / 2 && wait <= base, `wait ${i}: ${wait} of ${base}`);
    }
    await clock.advance(121_000);
    await cutAndWait();
    assert.ok((waits.at(-1) ?? 0) <= 800);
    await stop();
  });

  for (const [code, word] of [
    [403, 'Forbidden'],
    [401, 'Unauthorized'],
    [400, 'BadRequest'],
  ] as const) {
    it(`a server that answers ${code} is asked slowly from the first time on`, async () => {
      const { clock, server, stop } = await start(
        (server) => {
          one(server);
          const refused: Fault = { error: apiError(code, word) };
          server.fail('list', refused, refused, refused, refused);
        },
        { streaming: false },
      );
      await clock.advance(7_400);
      assert.equal(countOf(server, 'list'), 1);
      await clock.advance(52_600);
      assert.ok(countOf(server, 'list') <= 9, `${countOf(server, 'list')} lists in a minute`);
      await stop();
    });
  }

  it('an object with an empty name is refused', async () => {
    const { clock, server, informer, stop } = await start(one);
    const nameless = {
      apiVersion: 'test.io/v1',
      kind: 'Thing',
      metadata: { name: '', resourceVersion: '99' },
      spec: { value: 1 },
    };
    server.watches[0]?.send({ type: 'ADDED', object: nameless });
    await clock.settle();
    assert.equal(informer.state().reason, 'Malformed');
    assert.equal(informer.size, 1);
    await stop();
  });

  it('an informer honours Retry-After', async () => {
    const { clock, server, informer, stop } = await start(
      (server) => {
        one(server);
        server.fail('list', { error: apiError(429, 'TooManyRequests', { retryAfterSeconds: 17 }) });
      },
      { streaming: false },
    );
    await clock.advance(16_999);
    assert.equal(countOf(server, 'list'), 1);
    await clock.advance(2_000);
    assert.equal(informer.isSynced, true);
    await stop();
  });

  for (const how of ['answer', 'error event'] as const) {
    it(`after a 410 by ${how}, the informer lists at once and publishes only the difference`, async () => {
      const { clock, server, informer, mirror, assertCurrent, stop } = await start((server) => {
        for (const name of ['same', 'changed', 'gone', 'again']) server.put(name);
      });
      const same = informer.get('default/same');
      mirror.take();
      server.held = true;
      server.put('changed');
      server.remove('gone');
      server.remove('again');
      server.put('again');
      server.put('extra');
      server.compact();
      if (how === 'answer') server.watches[0]?.end();
      else {
        server.held = false;
        server.watches[0]?.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
      }
      await clock.advance(how === 'answer' ? 801 : 0);
      assert.deepEqual(mirror.take().toSorted(), [
        '+default/again@18',
        '+default/changed@15',
        '+default/extra@19',
        '-default/again',
        '-default/gone',
      ]);
      assert.equal(informer.get('default/same'), same);
      assertCurrent();
      await stop();
    });
  }

  it('error events, unknown events and objects without a name are failures that the informer survives', async () => {
    const { clock, server, informer, mirror, assertCurrent, stop } = await start(one);
    const bad = [
      { type: 'ERROR', object: { kind: 'Status', code: 500, reason: 'InternalError', message: 'etcd' } },
      { type: 'ERROR', object: 'what?' },
      { type: 'ADDED', object: { metadata: { name: 'x' } } },
      { type: 'MODIFIED', object: null },
      { type: 'BOOKMARK', object: {} },
      { type: 'SURPRISE', object: {} },
    ];
    for (const [i, event] of bad.entries()) {
      const good = server.put(`good${i}`);
      server.watches.at(-1)?.send({ type: 'ADDED', object: good }, event as never);
      await clock.settle();
      assert.ok(informer.get(`default/good${i}`), 'what came before counts');
      assert.equal(informer.state().phase, 'waiting');
      await clock.advance(60_000);
      assert.equal(informer.state().phase, 'watching');
    }
    mirror.assertEqual();
    assertCurrent();
    await stop();
  });

  it('the informer lists again if the server does not accept its resourceVersion', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start(one);
    server.fail('watch', { error: apiError(400, 'BadRequest', { message: 'invalid resource version' }) });
    server.watches[0]?.cut();
    await clock.advance(16_000);
    assert.equal(countOf(server, 'list'), 2);
    assert.equal(informer.state().phase, 'watching');
    assertCurrent();
    await stop();
  });

  it('the informer lists again if a resumed watch brings only bad events', async () => {
    const { clock, server, assertCurrent, stop } = await start(one);
    for (let i = 0; i < 3; i++) {
      server.watches.at(-1)?.send({ type: 'ERROR', object: { code: 500, message: 'cannot decode' } });
      await clock.advance(10_000);
    }
    assert.equal(countOf(server, 'list'), 2);
    assertCurrent();
    await stop();
  });

  it('the informer lists again if the server was restored from a backup with an earlier version', async () => {
    for (const answer of ['504', 'bookmark'] as const) {
      const { clock, server, mirror, assertCurrent, stop } = await start((server) => {
        for (let i = 0; i < 10; i++) server.put('a');
        server.put('b');
      });
      mirror.take();
      if (answer === '504') {
        server.fail('watch', {
          error: apiError(504, 'Timeout', { message: 'Too large resource version: 21, current: 12' }),
        });
      }
      server.restore(11);
      server.put('a', { value: 3 });
      await clock.advance(1_000);
      if (answer === 'bookmark') server.watches.at(-1)?.bookmark();
      await clock.advance(5_000);
      assert.deepEqual(mirror.take(), ['-default/b', '-default/a', '+default/a@12'], answer);
      assertCurrent();
      await stop();
    }
  });

  it('the informer requests smaller pages if one is too large', async () => {
    const { clock, server, informer, stop } = await start(
      (server) => {
        one(server);
        server.fail('list', { error: new TransportError('too-large', 'scripted') });
      },
      { streaming: false },
    );
    await clock.advance(1_000);
    assert.equal(server.requests[1]?.options.limit, 250);
    assert.equal(informer.isSynced, true);
    await stop();
  });

  it('a broken streamed list is followed by a paged one, and later lists are streamed again', async () => {
    const { clock, server, informer, assertCurrent, stop } = await start((server) => {
      one(server);
      server.streaming = 'offers';
      server.fail('watch', { error: new TransportError('reset', 'scripted') });
    });
    await clock.advance(1_000);
    assert.equal(informer.isSynced, true);
    assert.equal(countOf(server, 'list'), 1);
    server.compact();
    server.watches[0]?.send({ type: 'ERROR', object: { code: 410 } });
    await clock.advance(10);
    assert.equal(server.requests.at(-1)?.options.sendInitialEvents, true);
    assertCurrent();
    await stop();
  });
});
