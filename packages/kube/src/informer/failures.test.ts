import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, createVirtualClock, type VirtualClock } from '@capstan/testing';
import { TransportError } from '../errors.ts';
import type { InformerOptions } from './informer.ts';
import { apiError, type Fault, type ScriptedServer, type Thing } from './scripted-server.test-support.ts';
import { type Stage, stage } from './stage.test-support.ts';

const start = (
  prepare?: (server: ScriptedServer) => void,
  options?: Partial<InformerOptions<Thing>>,
): Promise<Stage<VirtualClock>> => stage(createVirtualClock(), createRandom(11), prepare, options);

const one = (server: ScriptedServer) => void server.put('a');
const countOf = (server: ScriptedServer, verb: 'list' | 'watch') =>
  server.requests.filter((request) => request.verb === verb && !request.options.sendInitialEvents).length;

describe('failures never stop an informer', () => {
  const failures: [string, Error, string][] = [
    ['429', apiError(429, 'TooManyRequests'), 'Throttled'],
    ['500', apiError(500, 'InternalError'), 'ServerError'],
    ['503', apiError(503, 'ServiceUnavailable'), 'ServerError'],
    ['401', apiError(401, 'Unauthorized'), 'Unauthorized'],
    ['403', apiError(403, 'Forbidden'), 'Forbidden'],
    ['404', apiError(404, 'NotFound'), 'NotServed'],
    ['400', apiError(400, 'BadRequest'), 'Invalid'],
    ['a reset', new TransportError('reset', 'scripted'), 'Unreachable'],
    ['a refused connection', new TransportError('refused', 'scripted'), 'Unreachable'],
    ['an answer that is no JSON', new TransportError('malformed', 'scripted'), 'Malformed'],
    ['a bug', new TypeError('oops'), 'Unexpected'],
  ];
  for (const verb of ['list', 'watch'] as const) {
    for (const [name, error, reason] of failures) {
      it(`an informer survives ${name} on ${verb} five times in a row`, async () => {
        const fault: Fault = { error };
        const { clock, server, informer, mirror, assertCurrent, stop } = await start(
          (server) => {
            one(server);
            server.fail(verb, fault, fault, fault, fault, fault);
          },
          { streaming: false },
        );
        assert.equal(informer.isSynced, verb === 'watch');
        assert.equal(informer.state().phase, 'waiting');
        assert.equal(informer.state().reason, reason);
        assert.ok(informer.state().lastError);
        await clock.advance(150_000);
        server.put('b');
        await clock.settle();
        assertCurrent();
        assert.deepEqual(informer.state().phase, 'watching');
        assert.equal(informer.state().reason, undefined);
        assert.equal(mirror.states.at(-1)?.phase, 'watching');
        await stop();
      });
    }
  }

  it('an informer survives a request that hangs', async () => {
    const { clock, assertCurrent, informer, stop } = await start(
      (server) => {
        one(server);
        server.fail('list', 'hang');
        server.fail('watch', 'hang');
      },
      { streaming: false },
    );
    await clock.advance(63_000);
    assert.equal(informer.isSynced, true);
    await clock.advance(40_000);
    assert.equal(informer.state().phase, 'watching');
    assertCurrent();
    await stop();
  });
});

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
        for (const name of ['same', 'changed', 'gone', 'anew']) server.put(name);
      });
      const same = informer.get('default/same');
      mirror.take();
      server.held = true;
      server.put('changed');
      server.remove('gone');
      server.remove('anew');
      server.put('anew');
      server.put('extra');
      server.compact();
      if (how === 'answer') server.watches[0]?.end();
      else {
        server.held = false;
        server.watches[0]?.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
      }
      await clock.advance(how === 'answer' ? 801 : 0);
      assert.deepEqual(mirror.take().toSorted(), [
        '+default/anew@18',
        '+default/changed@15',
        '+default/extra@19',
        '-default/anew',
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

describe('a silent connection', () => {
  for (const endsOnAbort of [false, true]) {
    it(`is given up when neither event nor end came within its time, by a transport that ${endsOnAbort ? 'ends' : 'throws'}`, async () => {
      const restarts: string[] = [];
      const { clock, server, assertCurrent, stop } = await start(
        (server) => {
          one(server);
          server.endsOnAbort = endsOnAbort;
        },
        {
          observe: { watchRestarted: (cause) => restarts.push(cause) },
        },
      );
      const seconds = server.watches[0]?.options.timeoutSeconds ?? 0;
      server.watches[0]?.silence();
      server.put('b');
      await clock.advance(seconds * 1000 + 9_999);
      assert.equal(server.watches.length, 1);
      await clock.advance(1_000);
      assert.equal(server.watches.length, 2);
      assert.equal(server.watches[0]?.isOpen, false);
      assert.deepEqual(restarts.slice(-1), ['Silent']);
      assertCurrent();
      await stop();
    });
  }

  it('a connection that goes silent after a bookmark or an event is given up as early', async () => {
    const { clock, server, assertCurrent, stop } = await start(one);
    const limitMs = (server.watches[0]?.options.timeoutSeconds ?? 0) * 1000 + 10_000;
    assert.ok(limitMs <= 50_000);
    await clock.advance(20_000);
    server.watches[0]?.bookmark();
    await clock.settle();
    server.watches[0]?.silence();
    server.put('b');
    await clock.advance(limitMs - 1);
    assert.equal(server.watches.length, 1);
    await clock.advance(1_000);
    assert.equal(server.watches.length, 2);
    assertCurrent();
    await stop();
  });

  it('a connection with bookmarks or events stays open, even if the server ignores the time of a watch', async () => {
    const { clock, server, stop } = await start((server) => {
      one(server);
      server.endsInTime = false;
    });
    for (let i = 0; i < 8; i++) {
      await clock.advance(35_000);
      if (i % 2 === 0) server.watches[0]?.bookmark();
      else server.put('a');
    }
    assert.equal(server.watches.length, 1);
    await stop();
  });

  it('watches that end in time without bookmarks keep the copy fresh', async () => {
    const restarts = new Set<string>();
    const { clock, informer, server, stop } = await start(one, {
      observe: { watchRestarted: (cause) => restarts.add(cause) },
    });
    restarts.clear();
    for (let second = 0; second < 600; second++) {
      await clock.advance(1_000);
      assert.ok(informer.isFresh(41_000), `${informer.staleness()} ms`);
      assert.equal(informer.state().phase, 'watching');
    }
    assert.deepEqual([...restarts], ['ended']);
    const perMinute = server.watches.length / 10;
    assert.ok(perMinute <= 2, `${perMinute} requests a minute`);
    await stop();
  });
});

describe('readers of an informer', () => {
  it('readers see forbidden and not served as lasting states during retries', async () => {
    for (const [code, word, reason] of [
      [403, 'Forbidden', 'Forbidden'],
      [404, 'NotFound', 'NotServed'],
    ] as const) {
      const fault: Fault = { error: apiError(code, word) };
      const { clock, server, informer, mirror, stop } = await start(
        (server) => server.fail('list', ...Array.from({ length: 20 }, () => fault)),
        { streaming: false },
      );
      await clock.advance(60_000);
      const count = countOf(server, 'list');
      assert.ok(count >= 3 && count <= 9, `${count} requests in a minute`);
      const reasons = mirror.states.slice(2).map((state) => state.reason);
      assert.ok(reasons.length > 0 && reasons.every((each) => each === reason), reasons.join());
      assert.equal(informer.isSynced, false);
      await stop();
    }
  });

  it('an optional kind that is not served is not reported', async () => {
    const levelsWith = async (optional: boolean) => {
      const fault: Fault = { error: apiError(404, 'NotFound') };
      const { logs, stop } = await start((server) => server.fail('list', fault), { streaming: false, optional });
      await stop();
      return logs.filter(({ message }) => message.includes('not served')).map(({ level }) => level);
    };
    assert.deepEqual([await levelsWith(false), await levelsWith(true)], [['info'], ['debug']]);
  });

  it('a poke retries at once, even if it comes during an attempt', async () => {
    const fault: Fault = { error: apiError(404, 'NotFound') };
    const { clock, server, informer, stop } = await start((server) => server.fail('list', fault, { delayMs: 100 }), {
      streaming: false,
    });
    assert.equal(informer.state().reason, 'NotServed');
    informer.poke();
    await clock.settle();
    assert.equal(countOf(server, 'list'), 2);
    await clock.advance(100);
    assert.equal(informer.isSynced, true);
    await stop();

    const late = await start(
      (server) => {
        server.latencyMs = 100;
        server.fail('list', fault);
      },
      { streaming: false },
    );
    late.informer.poke();
    await late.clock.advance(150);
    assert.equal(countOf(late.server, 'list'), 2);
    await late.stop();
  });

  it('waits are short again after a poke, because a starting server may refuse once more', async () => {
    const outage = 8;
    const { clock, server, informer, stop } = await start(
      (server) => {
        for (let index = 0; index < outage; index++)
          server.fail('list', { error: apiError(503, 'ServiceUnavailable') });
      },
      { streaming: false },
    );
    // By now it waits for up to half a minute between two tries.
    while (countOf(server, 'list') < outage - 1) await clock.advance(1_000);
    informer.poke();
    await clock.settle();
    assert.equal(informer.isSynced, false, 'refused once more');
    await clock.advance(1_000);
    assert.equal(informer.isSynced, true);
    await stop();
  });

  it('readers see how old their copy may be', async () => {
    const { clock, server, informer, stop } = await start(
      (server) => {
        server.latencyMs = 100;
        for (const name of ['a', 'b', 'c']) server.put(name);
      },
      { pageSize: 1, streaming: false },
    );
    assert.equal(informer.staleness(), Number.POSITIVE_INFINITY);
    assert.equal(informer.isFresh(1e9), false);
    await clock.advance(300);
    assert.equal(informer.isSynced, true);
    const listed = informer.staleness();
    assert.equal(listed, 200, 'a list is as old as its first page');
    await clock.advance(100);
    await clock.advance(900);
    assert.equal(informer.staleness(), listed + 1_000);
    assert.equal(informer.isFresh(1_000), false);
    server.watches[0]?.bookmark();
    await clock.settle();
    assert.equal(informer.staleness(), 0);
    await clock.advance(500);
    server.put('b');
    await clock.settle();
    assert.equal(informer.isFresh(0), true);
    assert.equal(informer.hasReached(String(server.version)), true);
    assert.equal(informer.hasReached(String(server.version + 1)), false);
    await stop();
  });

  it('readers keep the last copy during an outage and see it age', async () => {
    const { clock, server, informer, stop } = await start(one);
    server.fail(
      'watch',
      ...Array.from({ length: 100 }, (): Fault => ({ error: new TransportError('refused', 'scripted') })),
    );
    server.watches[0]?.cut();
    await clock.advance(600_000);
    assert.equal(informer.size, 1);
    assert.equal(informer.isSynced, true);
    assert.ok(informer.staleness() >= 600_000);
    await stop();
  });
});

describe('the hooks for metrics', () => {
  it('the hooks count lists, events and restarts, and their exceptions are ignored', async () => {
    const seen: string[] = [];
    const { clock, server, informer, logs, stop } = await start((server) => void server.put('a'), {
      pageSize: 1,
      observe: {
        listed: ({ objects, pages, isStreamed }) => seen.push(`listed ${objects} ${pages} ${isStreamed}`),
        received: ({ counts, replayed }) => {
          seen.push(`${JSON.stringify(counts)} ${replayed}`);
          throw new Error('broken hook');
        },
        watchRestarted: (cause) => seen.push(cause),
      },
    });
    server.put('a');
    server.watches[0]?.repeat();
    await clock.settle();
    server.watches[0]?.cut();
    await clock.advance(1_000);
    assert.deepEqual(seen, ['listed 1 1 false', '{"MODIFIED":1} 0', '{"MODIFIED":1} 1', 'Unreachable']);
    assert.equal(informer.state().phase, 'watching');
    assert.ok(logs.some(({ level }) => level === 'error'));
    await stop();
  });
});
