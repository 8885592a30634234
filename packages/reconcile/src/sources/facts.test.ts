import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine, type Root, type Settled } from '../engine/index.ts';
import type { FactDefinition, FactState } from '../read/index.ts';
import { createFacts, type FactsOptions } from './facts.ts';

type Answer = string | Error | Promise<string>;

/** A fact whose answers a test gives, and a reader of it that is held or let go. */
function stage(given: Partial<FactDefinition<string>> = {}, options: Partial<FactsOptions> = {}) {
  const clock = createVirtualClock({ start: 1_000_000 });
  let isPending = false;
  const engine = createEngine({ clock, onPending: () => (isPending = true) });
  const facts = createFacts({ engine, clock, random: () => 1, logger: silentLogger, ...options });
  const calls: { at: number; key: string; previous: string | undefined; signal: AbortSignal }[] = [];
  const answers: Answer[] = [];
  const fact: FactDefinition<string> = {
    name: 'weather',
    fetch(key, { previous, signal }) {
      calls.push({ at: clock.now() - 1_000_000, key, previous, signal });
      const answer = answers.shift() ?? `answer ${calls.length}`;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    ...given,
  };
  let runs = 0;
  const reader = engine.derive<FactState<string>>({
    name: 'reader',
    sink: true,
    compute(key, tracker) {
      runs++;
      return tracker.get(facts.table(fact, key, key), key) as FactState<string>;
    },
  });
  const roots = new Map<string, Root>();
  async function settle(): Promise<void> {
    await clock.settle();
    while (isPending) {
      isPending = false;
      engine.flushSync();
      await clock.settle();
    }
  }
  return {
    clock,
    facts,
    fact,
    calls,
    answers,
    engine,
    settle,
    get runs() {
      return runs;
    },
    async read(key = 'here') {
      if (!roots.has(key)) roots.set(key, engine.hold(reader, key));
      await settle();
    },
    async leave(key = 'here') {
      roots.get(key)?.stop();
      roots.delete(key);
      await settle();
    },
    async advance(ms: number) {
      await clock.advance(ms);
      await settle();
    },
    state: (key = 'here'): Settled<FactState<string>> | undefined => engine.valueOf(reader, key),
    value(key = 'here') {
      const settled = engine.valueOf(reader, key);
      return settled?.state === 'value' ? settled.value : settled?.state;
    },
  };
}

const later = () => {
  let give: (value: string) => void = () => undefined;
  const promise = new Promise<string>((resolve) => (give = resolve));
  return { promise, give };
};

describe('a fact', () => {
  test('is fetched when something reads it, and not before; until then the reader is suspended', async () => {
    const all = stage();
    const { promise, give } = later();
    all.answers.push(promise);
    all.facts.table(all.fact, 'here', 'here');
    await all.settle();
    assert.deepEqual(all.calls, []);
    await all.read();
    assert.equal(all.value(), 'suspended');
    assert.deepEqual(all.state(), { state: 'suspended', waitingFor: ['fact weather/here'] });
    give('sunny');
    await all.settle();
    assert.deepEqual(all.value(), { value: 'sunny', error: undefined });
  });

  test('is fetched once for all its readers, and once a key', async () => {
    const all = stage();
    await all.read('here');
    await all.read('there');
    await all.read('here');
    assert.deepEqual(
      all.calls.map(({ key }) => key),
      ['here', 'there'],
    );
    await all.advance(86_400_000);
    assert.equal(all.calls.length, 2);
  });

  test('a fact of many keys is fetched for a limited number of them at the same time, in the order in which they were read', async () => {
    const all = stage({ concurrency: 3 });
    const answers = Array.from({ length: 10 }, later);
    all.answers.push(...answers.map(({ promise }) => promise));
    for (let at = 0; at < 10; at++) await all.read(`key ${at}`);
    assert.equal(all.calls.length, 3);
    answers[1]?.give('second');
    await all.settle();
    assert.deepEqual(
      all.calls.map(({ key }) => key),
      ['key 0', 'key 1', 'key 2', 'key 3'],
    );
    assert.deepEqual(all.value('key 1'), { value: 'second', error: undefined });
    for (const { give } of answers) give('later');
    await all.settle();
    assert.equal(all.calls.length, 10);
  });

  test('is limited to 32 fetches at the same time unless it says otherwise', async () => {
    const all = stage();
    all.answers.push(...Array.from({ length: 100 }, () => later().promise));
    for (let at = 0; at < 100; at++) await all.read(`key ${at}`);
    assert.equal(all.calls.length, 32);
  });

  test('a fact that is not read any more gives up its place in the queue, and one that hangs gives it up after its time limit', async () => {
    const all = stage({ concurrency: 1, timeoutMs: 1000, retryMs: 60_000 });
    all.answers.push(later().promise);
    for (const key of ['hangs', 'leaves', 'waits']) await all.read(key);
    await all.leave('leaves');
    await all.advance(999);
    assert.deepEqual(
      all.calls.map(({ key }) => key),
      ['hangs'],
    );
    await all.advance(1);
    assert.deepEqual(
      all.calls.map(({ key }) => key),
      ['hangs', 'waits'],
    );
    assert.deepEqual(all.value('waits'), { value: 'answer 2', error: undefined });
  });

  test('a fact that fails is an answer too, and is tried again with waits that double, up to the longest', async () => {
    const all = stage({ retryMs: 1000, maxRetryMs: 4000 });
    all.answers.push(...Array.from({ length: 5 }, () => new Error('no\n  answer')));
    await all.read();
    assert.deepEqual(all.value(), { value: undefined, error: { code: 'Failed', message: 'no answer' } });
    await all.advance(60_000);
    assert.deepEqual(
      all.calls.map(({ at }) => at),
      [0, 1000, 3000, 7000, 11_000, 15_000],
    );
    assert.deepEqual(all.value(), { value: 'answer 6', error: undefined });
  });

  test('a fact that failed together with others does not come back together with them, nor later than it may', async () => {
    const waits = [];
    for (const random of [0, 0.5, 0.999]) {
      const all = stage({ retryMs: 1000 }, { random: () => random });
      all.answers.push(new Error('no'));
      await all.read();
      await all.advance(1000);
      waits.push(all.calls[1]?.at ?? Number.NaN);
    }
    assert.deepEqual(waits, [500, 750, 999.5]);
  });

  test('restarts with short waits after a success', async () => {
    const all = stage({ retryMs: 1000, refreshMs: 100_000 });
    all.answers.push(new Error('1'), new Error('2'), 'fine', new Error('3'));
    await all.read();
    await all.advance(3000);
    assert.deepEqual(all.value(), { value: 'fine', error: undefined });
    await all.advance(100_000);
    assert.deepEqual(all.value(), { value: 'fine', error: { code: 'Failed', message: '3' } });
    await all.advance(1000);
    assert.deepEqual(all.value(), { value: 'answer 5', error: undefined });
  });

  test('keeps its last good value while it fails', async () => {
    const all = stage({ refreshMs: 1000 });
    all.answers.push('good', new Error('broken'));
    await all.read();
    await all.advance(1000);
    assert.deepEqual(all.value(), { value: 'good', error: { code: 'Failed', message: 'broken' } });
    assert.equal(all.calls[1]?.previous, 'good');
  });

  test('is refreshed on its period', async () => {
    const all = stage({ refreshMs: 60_000 });
    await all.read();
    await all.advance(180_000);
    assert.deepEqual(
      all.calls.map(({ at }) => at),
      [0, 60_000, 120_000, 180_000],
    );
  });

  test('a fact with an equal result wakes no reader', async () => {
    const all = stage({ refreshMs: 1000 });
    all.answers.push('same', 'same', 'same');
    await all.read();
    const { runs } = all;
    await all.advance(2000);
    assert.equal(all.calls.length, 3);
    assert.equal(all.runs, runs);
  });

  test('a fact that throws before it begins is one that failed', async () => {
    const all = stage({
      fetch() {
        throw new Error('at once');
      },
    });
    await all.read();
    assert.deepEqual(all.value(), { value: undefined, error: { code: 'Failed', message: 'at once' } });
  });

  test('is not asked for again before the time that the answer has named', async () => {
    const all = stage({ retryMs: 1000, maxRetryMs: 4000 });
    all.answers.push(Object.assign(new Error('too many'), { retryAfterMs: 30_000 }));
    await all.read();
    await all.advance(29_000);
    assert.equal(all.calls.length, 1);
    await all.advance(4000);
    assert.deepEqual(all.value(), { value: 'answer 2', error: undefined });
  });

  test('a fact that takes too long is aborted and tried again', async () => {
    const all = stage({ timeoutMs: 5000, retryMs: 1000 });
    all.answers.push(later().promise);
    await all.read();
    await all.advance(5000);
    assert.deepEqual(all.value(), { value: undefined, error: { code: 'Failed', message: 'no result within 5 s' } });
    assert.equal(all.calls[0]?.signal.aborted, true);
    await all.advance(1000);
    assert.deepEqual(all.value(), { value: 'answer 2', error: undefined });
  });

  test('leaves no timer behind when it is there', async () => {
    const all = stage();
    await all.read();
    assert.equal(all.clock.pendingTimers, 0);
  });
});

describe('a fact that nothing reads any more', () => {
  test('is aborted and not fetched again, and a late answer is dropped', async () => {
    const all = stage({ refreshMs: 1000 });
    const { promise, give } = later();
    all.answers.push(promise);
    await all.read();
    await all.leave();
    assert.equal(all.calls[0]?.signal.aborted, true);
    give('too late');
    await all.advance(100_000);
    assert.equal(all.calls.length, 1);
    assert.equal(all.facts.table(all.fact, 'here', 'here').peek('here'), undefined);
    assert.equal(all.clock.pendingTimers, 0);
  });

  test('is fetched again when it is read again', async () => {
    const all = stage();
    const { promise, give } = later();
    all.answers.push(promise, 'new');
    await all.read();
    await all.leave();
    await all.read();
    give('old');
    await all.settle();
    assert.deepEqual(all.value(), { value: 'new', error: undefined });
  });
});

test('a fact that is read again after a time without readers is waited for, not taken from before', async () => {
  const all = stage();
  all.answers.push('before', later().promise);
  await all.read();
  await all.leave();
  await all.read();
  assert.equal(all.value(), 'suspended');
});

describe('a fact that a user knows to have changed', () => {
  test('is fetched at once, and its period restarts', async () => {
    const all = stage({ refreshMs: 10_000 });
    await all.read();
    await all.advance(9000);
    all.facts.refresh(all.fact, 'here');
    await all.settle();
    assert.deepEqual(all.value(), { value: 'answer 2', error: undefined });
    await all.advance(9000);
    assert.equal(all.calls.length, 2);
  });

  test('is fetched once more after the one under way, which may have asked too early', async () => {
    const all = stage();
    const { promise, give } = later();
    all.answers.push(promise, 'new');
    await all.read();
    all.facts.refresh(all.fact, 'here');
    all.facts.refresh(all.fact, 'here');
    give('old');
    await all.advance(0);
    assert.deepEqual(all.value(), { value: 'new', error: undefined });
    assert.equal(all.calls.length, 2);
  });

  test('is not fetched once more for the wait or the period that it had before', async () => {
    const failed = stage({ retryMs: 1000 });
    failed.answers.push(new Error('no'));
    await failed.read();
    failed.facts.refresh(failed.fact, 'here');
    await failed.advance(60_000);
    assert.equal(failed.calls.length, 2);

    const periodic = stage({ refreshMs: 1000 });
    const { promise, give } = later();
    periodic.answers.push(promise);
    await periodic.read();
    periodic.facts.refresh(periodic.fact, 'here');
    give('first');
    await periodic.advance(2500);
    assert.deepEqual(
      periodic.calls.map(({ at }) => at),
      [0, 0, 1000, 2000],
    );
  });

  test('is left alone when nothing reads it', async () => {
    const all = stage();
    all.facts.refresh(all.fact, 'here');
    await all.settle();
    assert.deepEqual(all.calls, []);
  });
});

describe('stopping', () => {
  test('aborts what is under way, ends when it has ended, and begins nothing more', async () => {
    const all = stage({ refreshMs: 1000 });
    all.answers.push(later().promise);
    await all.read();
    await all.facts.stop();
    assert.equal(all.calls[0]?.signal.aborted, true);
    all.facts.refresh(all.fact, 'here');
    await all.read('there');
    await all.advance(10_000);
    assert.equal(all.calls.length, 1);
    assert.equal(all.clock.pendingTimers, 0);
  });
});
