import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TransportError } from '../../errors.ts';
import { apiError, type Fault } from '../scripted-server.test-support.ts';
import { countOf, one, start } from './failures.test-support.ts';

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
