import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { done, type Outcome, retry, retryAfter, terminal } from './outcome.ts';
import { createQueue } from './queue.ts';
import { runWorkers, type WorkerEnd, type WorkerOptions } from './workers.ts';

function setUp(handle: WorkerOptions<string>['handle'], more: Partial<WorkerOptions<string>> = {}) {
  const clock = createVirtualClock();
  const queue = createQueue<string>({ clock, name: 'test' });
  const stop = new AbortController();
  const ends: WorkerEnd[] = [];
  const observe = { started() {}, finished: (end: WorkerEnd) => ends.push(end) };
  const start = () => runWorkers({ queue, clock, handle, signal: stop.signal, observe, ...more });
  return { clock, queue, stop, ends, start };
}

describe('workers', () => {
  it('work on as many keys at a time as they may, and never twice on the same', async () => {
    const running = new Map<string, number>();
    let most = 0;
    const { clock, queue, start } = setUp(
      async (key) => {
        running.set(key, (running.get(key) ?? 0) + 1);
        assert.equal(running.get(key), 1);
        most = Math.max(most, running.size);
        await new Promise<void>((resolve) => clock.after(10, resolve));
        running.delete(key);
        return done;
      },
      { concurrency: 3 },
    );
    const ended = start();
    for (let round = 0; round < 3; round++) {
      for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
      await clock.advance(5);
    }
    const drained = queue.shutDownWithDrain();
    await clock.runUntilIdle(1_000);
    await Promise.all([ended, drained]);
    assert.equal(most, 3);
  });

  it('retry a key that failed, after a growing wait, and restart after it succeeded', async () => {
    const at: number[] = [];
    let failures = 3;
    const { clock, queue, stop, start } = setUp(() => {
      at.push(clock.now());
      return failures-- > 0 ? retry(new Error('not yet')) : done;
    });
    const ended = start();
    const startedAt = clock.now();
    queue.add('a');
    await clock.runUntilIdle(10_000);
    assert.deepEqual(
      at.map((time) => time - startedAt),
      [0, 5, 15, 35],
    );
    assert.equal(queue.failures('a'), 0);
    stop.abort();
    await ended;
  });

  it('keep the failures of a key that only waits before it tries again, and forget those of one that goes on', async () => {
    const outcomes = [
      retry(new Error('x')),
      retry(new Error('x')),
      retryAfter(1_000, { keepsFailures: true }),
      retryAfter(1_000),
      done,
    ];
    const counted: number[] = [];
    const { clock, queue, stop, start } = setUp((key) => {
      counted.push(queue.failures(key));
      return outcomes.shift() ?? done;
    });
    const ended = start();
    queue.add('a');
    await clock.runUntilIdle(10_000);
    assert.deepEqual(counted, [0, 1, 2, 2, 0]);
    stop.abort();
    await ended;
  });

  it('look again after the time that the handler asks for', async () => {
    const at: number[] = [];
    const { clock, queue, stop, start } = setUp(() => {
      at.push(clock.now());
      return at.length < 3 ? retryAfter(1_000) : done;
    });
    const ended = start();
    queue.add('a');
    const startedAt = clock.now();
    await clock.runUntilIdle(10_000);
    assert.deepEqual(
      at.map((time) => time - startedAt),
      [0, 1_000, 2_000],
    );
    stop.abort();
    await ended;
  });

  it('count a handler that throws as a panic, retry it, and go on with every other key', async () => {
    const handled: string[] = [];
    const { clock, queue, stop, ends, start } = setUp((key) => {
      handled.push(key);
      if (key === 'bad' && handled.length < 3) throw new Error('a bug');
      return done;
    });
    const ended = start();
    queue.add('bad');
    queue.add('good');
    await clock.runUntilIdle(1_000);
    assert.deepEqual(handled, ['bad', 'good', 'bad']);
    assert.deepEqual(
      ends.map((end) => [end.result, end.panicked]),
      [
        ['error', true],
        ['success', false],
        ['success', false],
      ],
    );
    stop.abort();
    await ended;
  });

  it('do not retry a terminal error, and do not remember it', async () => {
    const { clock, queue, stop, ends, start } = setUp(() => terminal(new Error('never')));
    const ended = start();
    queue.add('a');
    await clock.runUntilIdle(2_000_000);
    assert.deepEqual(
      ends.map((end) => [end.result, end.terminal]),
      [['error', true]],
    );
    assert.equal(queue.failures('a'), 0);
    stop.abort();
    await ended;
  });

  it('end only after the handlers that were asked to stop have ended, and start nothing new', async () => {
    const handled: string[] = [];
    const { clock, queue, stop, ends, start } = setUp(
      (key, signal) =>
        new Promise<Outcome>((_, reject) => {
          handled.push(key);
          signal.addEventListener('abort', () => clock.after(50, () => reject(new Error('stopped'))));
        }),
    );
    let hasEnded = false;
    const ended = start().then(() => {
      hasEnded = true;
    });
    queue.add('a');
    queue.add('b');
    await clock.settle();
    stop.abort();
    await clock.advance(49);
    assert.equal(hasEnded, false);
    await clock.advance(1);
    await ended;
    assert.deepEqual(handled, ['a']);
    assert.deepEqual(
      ends.map((end) => end.panicked),
      [false],
    );
  });

  it('abort the signal of a handler that takes too long, and count it', async () => {
    const { clock, queue, stop, ends, start } = setUp(
      (_, signal) =>
        new Promise<Outcome>((resolve) => {
          signal.addEventListener('abort', () => resolve(retry(signal.reason)));
        }),
      { timeoutMs: 100 },
    );
    const ended = start();
    queue.add('a');
    await clock.advance(100);
    assert.deepEqual(
      ends.map((end) => [end.result, end.timedOut, end.ms]),
      [['error', true, 100]],
    );
    stop.abort();
    await clock.settle();
    await ended;
    assert.equal(clock.pendingTimers, 0);
  });

  it('let the event loop have its turn while handlers never wait', async () => {
    let turns = 0;
    const real = {
      now: () => performance.now(),
      after: createVirtualClock().after,
      yield() {
        turns += 1;
        return new Promise<void>((resolve) => setImmediate(resolve));
      },
    };
    const { queue, start } = setUp(
      () => {
        const until = performance.now() + 1;
        while (performance.now() < until);
        return done;
      },
      { clock: real },
    );
    for (let key = 0; key < 50; key++) queue.add(`k${key}`);
    queue.shutDown();
    await start();
    assert.ok(turns >= 2, `${turns} turns`);
  });
});
