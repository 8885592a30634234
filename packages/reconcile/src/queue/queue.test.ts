import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import * as fc from 'fast-check';
import { createQueue, FRESH, type Queue, type QueueObserver, RESYNC } from './queue.ts';

function setUp(observe?: QueueObserver) {
  const clock = createVirtualClock();
  const queue = createQueue<string>({ clock, name: 'test', ...(observe && { observe }) });
  return { clock, queue };
}

function takeAll(queue: Queue<string>): string[] {
  const keys: string[] = [];
  for (let taken = queue.take(); taken !== undefined; taken = queue.take()) keys.push(taken.key);
  return keys;
}

describe('a queue', () => {
  it('hands out a key once however often it is added before', () => {
    const { queue } = setUp();
    queue.add('a');
    queue.add('b');
    queue.add('a');
    assert.deepEqual(takeAll(queue), ['a', 'b']);
  });

  it('never hands out a key that is being processed, and queues it once when it is done', () => {
    const { queue } = setUp();
    queue.add('a');
    assert.equal(queue.take()?.key, 'a');
    queue.add('a');
    queue.add('a');
    assert.equal(queue.take(), undefined);
    assert.equal(queue.state().held, 1);
    queue.done('a');
    assert.deepEqual(takeAll(queue), ['a']);
    queue.done('a');
    assert.deepEqual(takeAll(queue), []);
  });

  it('hands out fresh changes before resyncs, each in the order of arrival', () => {
    const { queue } = setUp();
    queue.add('r1', RESYNC);
    queue.add('f1');
    queue.add('r2', RESYNC);
    queue.add('f2');
    assert.deepEqual(takeAll(queue), ['f1', 'f2', 'r1', 'r2']);
  });

  it('puts a key whose priority is raised at the end of its new level, and never lowers one', () => {
    const { queue } = setUp();
    queue.add('low', RESYNC);
    queue.add('a');
    queue.add('b');
    queue.add('low', FRESH);
    queue.add('a', RESYNC);
    assert.deepEqual(takeAll(queue), ['a', 'b', 'low']);
  });

  it('keeps the raised priority of a key that was added while it was processed', () => {
    const { queue } = setUp();
    queue.add('a', RESYNC);
    queue.take();
    queue.add('a', RESYNC);
    queue.add('a', FRESH);
    queue.add('r', RESYNC);
    queue.done('a');
    assert.equal(queue.take()?.priority, FRESH);
  });

  it('holds back a delayed key until its time', async () => {
    const { clock, queue } = setUp();
    queue.addAfter('late', 100);
    queue.addAfter('early', 50);
    assert.equal(queue.take(), undefined);
    await clock.advance(49);
    assert.equal(queue.take(), undefined);
    await clock.advance(1);
    assert.equal(queue.take()?.key, 'early');
    await clock.advance(50);
    assert.equal(queue.take()?.key, 'late');
    assert.equal(clock.pendingTimers, 0);
  });

  it('takes the shortest of several delays, and an add without delay beats them all', async () => {
    const { clock, queue } = setUp();
    queue.addAfter('a', 100);
    queue.addAfter('a', 20);
    queue.addAfter('a', 500);
    await clock.advance(20);
    assert.deepEqual(takeAll(queue), ['a']);
    queue.done('a');
    queue.addAfter('a', 100);
    queue.add('a');
    assert.deepEqual(takeAll(queue), ['a']);
    queue.done('a');
    await clock.advance(1000);
    assert.deepEqual(takeAll(queue), [], 'the delay is used up');
  });

  it('holds a delayed key whose time comes while it is processed', async () => {
    const { clock, queue } = setUp();
    queue.add('a');
    queue.take();
    queue.addAfter('a', 10);
    await clock.advance(10);
    assert.equal(queue.take(), undefined);
    queue.done('a');
    assert.equal(queue.take()?.key, 'a');
  });

  it('does not lengthen delays when the clock is set back', async () => {
    const clock = createVirtualClock();
    let offset = 0;
    const skewed = { ...clock, now: () => clock.now() + offset };
    const queue = createQueue<string>({ clock: skewed, name: 'test' });
    queue.addAfter('a', 100);
    queue.addAfter('b', 200);
    offset = -3_600_000;
    await clock.advance(100);
    assert.deepEqual(takeAll(queue), ['a']);
    await clock.advance(100);
    assert.deepEqual(takeAll(queue), ['b']);
  });

  it('doubles the wait of a failing key from 5 ms up to 1,000 s, until it is forgotten', async () => {
    const { clock, queue } = setUp();
    const waits: number[] = [];
    for (let failure = 0; failure < 20; failure++) {
      const failedAt = clock.now();
      queue.addRateLimited('a');
      await clock.runUntilIdle(2_000_000);
      waits.push(clock.now() - failedAt);
      queue.take();
      queue.done('a');
    }
    assert.deepEqual(waits.slice(0, 4), [5, 10, 20, 40]);
    assert.deepEqual(waits.slice(17), [655_360, 1_000_000, 1_000_000]);
    assert.equal(queue.failures('a'), 20);
    queue.forget('a');
    queue.addRateLimited('a');
    await clock.advance(5);
    assert.equal(queue.take()?.key, 'a');
  });

  it('lets a hundred keys retry at once and then ten a second, and limits fresh changes not at all', async () => {
    const { clock, queue } = setUp();
    for (let key = 0; key < 130; key++) queue.addRateLimited(`k${key}`);
    for (let key = 0; key < 500; key++) queue.add(`fresh${key}`);
    assert.equal(takeAll(queue).length, 500);
    await clock.advance(5);
    assert.equal(takeAll(queue).length, 100);
    await clock.advance(1_000);
    assert.equal(takeAll(queue).length, 10);
    await clock.advance(2_000);
    assert.equal(takeAll(queue).length, 20);
  });

  it('wakes a worker that waits for a key, after the adds of the same turn are merged and ranked', async () => {
    const { queue } = setUp();
    const first = queue.get();
    queue.add('r', RESYNC);
    queue.add('f');
    queue.add('f');
    assert.equal((await first)?.key, 'f');
    assert.deepEqual(takeAll(queue), ['r']);
    queue.done('f');
    assert.equal(queue.take(), undefined);
  });

  it('refuses keys after shutDown, drops delayed ones and hands out what was ready', async () => {
    const { clock, queue } = setUp();
    queue.add('ready');
    queue.addAfter('delayed', 10);
    queue.shutDown();
    queue.add('refused');
    queue.addRateLimited('refused');
    assert.equal((await queue.get())?.key, 'ready');
    assert.equal(await queue.get(), undefined);
    assert.equal(clock.pendingTimers, 0);
  });

  it('ends the waiting of idle workers on shutDown', async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get()];
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
  });

  it('resolves shutDownWithDrain when the last key, held ones included, is done', async () => {
    const { clock, queue } = setUp();
    let isDrained = false;
    queue.add('a');
    queue.add('b');
    queue.take();
    queue.add('a');
    const drained = queue.shutDownWithDrain().then(() => {
      isDrained = true;
    });
    for (const key of ['b', 'a']) {
      if (key === 'a') queue.done('a');
      assert.equal(queue.take()?.key, key);
      queue.done(key);
      await clock.settle();
      assert.equal(isDrained, key === 'a');
    }
    await drained;
  });

  it('lets shutDown cut a drain short', async () => {
    const { queue } = setUp();
    queue.add('a');
    queue.take();
    const drained = queue.shutDownWithDrain();
    queue.shutDown();
    await drained;
  });

  it('reports to its observer how long keys waited and were worked on', async () => {
    const seen: string[] = [];
    const { clock, queue } = setUp({
      added: (priority) => seen.push(`added ${priority}`),
      started: (ms) => seen.push(`started after ${ms}`),
      finished: (ms) => seen.push(`finished after ${ms}`),
      retried: () => seen.push('retried'),
    });
    queue.addAfter('a', 5);
    await clock.advance(12);
    queue.take();
    await clock.advance(30);
    const { unfinishedMs, longestMs } = queue.state();
    assert.deepEqual([unfinishedMs, longestMs], [30, 30]);
    queue.done('a');
    assert.deepEqual(seen, ['retried', 'added 0', 'started after 7', 'finished after 30']);
  });
});

describe('a queue, against a model that is too simple to be wrong', () => {
  // The model: for each dirty key its priority, when it may run and its place in line; the next key is found by looking at all.
  interface Dirty {
    priority: number;
    at: number;
    line: number;
  }

  const operation = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key: key(), priority: priority() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('after' as const),
        key: key(),
        priority: priority(),
        ms: fc.integer({ min: 1, max: 30 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), key: key() }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 15 }) }) },
  );
  function key() {
    return fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  }
  function priority() {
    return fc.constantFrom(RESYNC, FRESH, 7);
  }

  it('hands out the same keys in the same order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const { clock, queue } = setUp();
        const dirty = new Map<string, Dirty>();
        const processing = new Set<string>();
        let line = 0;
        const add = (name: string, priority: number, ms: number) => {
          const at = clock.now() + ms;
          const known = dirty.get(name);
          if (known === undefined) {
            dirty.set(name, { priority, at, line: line++ });
            return;
          }
          // Whatever changes the rank of a ready key, or makes one ready earlier, sends it to the end of the line.
          const isReadier = at < known.at && known.at > clock.now();
          if ((priority > known.priority && known.at <= clock.now()) || isReadier) known.line = line++;
          known.priority = Math.max(known.priority, priority);
          if (isReadier) known.at = at;
        };
        const next = () =>
          [...dirty]
            .filter(([name, { at }]) => at <= clock.now() && !processing.has(name))
            .sort(([, a], [, b]) => b.priority - a.priority || a.line - b.line)[0]?.[0];
        for (const step of operations) {
          if (step.do === 'add') {
            queue.add(step.key, step.priority);
            add(step.key, step.priority, 0);
          } else if (step.do === 'after') {
            queue.addAfter(step.key, step.ms, step.priority);
            add(step.key, step.priority, step.ms);
          } else if (step.do === 'take') {
            const expected = next();
            assert.equal(queue.take()?.key, expected);
            if (expected !== undefined) {
              dirty.delete(expected);
              processing.add(expected);
            }
          } else if (step.do === 'done') {
            queue.done(step.key);
            const known = dirty.get(step.key);
            if (processing.delete(step.key) && known !== undefined && known.at <= clock.now()) known.line = line++;
          } else {
            const from = clock.now();
            await clock.advance(step.ms);
            // Keys join the line when their time comes, in the order of their times.
            [...dirty.values()]
              .filter(({ at }) => at > from && at <= clock.now())
              .sort((a, b) => a.at - b.at || a.line - b.line)
              .forEach((entry) => {
                entry.line = line++;
              });
          }
        }
        assert.equal(queue.state().processing, processing.size);
      }),
      { numRuns: 500 },
    );
  });
});
