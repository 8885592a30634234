import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTime } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine } from '../engine/index.ts';
import { createInstants } from './instants.ts';

const START = Date.UTC(2026, 0, 1);

/** A node for each instant that is asked for. */
function stage() {
  const timers = createVirtualClock({ start: START });
  /** By how much the clock was set forward; timers know nothing of that. */
  let jumped = 0;
  const clock = { ...timers, now: () => timers.now() + jumped };
  let isPending = false;
  let runs = 0;
  const answers: boolean[] = [];
  const engine = createEngine({ clock, onPending: () => (isPending = true) });
  const instants = createInstants(engine, clock);
  const asked = new Map<string, number | string>();
  const poke = engine.table<number>({ name: 'poke' });
  poke.synced();
  const node = engine.derive<boolean>({
    name: 'asks',
    sink: true,
    compute(key, tracker) {
      runs++;
      tracker.get(poke, key);
      const answer = instants.reached(tracker, asked.get(key) ?? Number.NaN);
      answers.push(answer);
      return answer;
    },
  });
  async function settle(): Promise<void> {
    await clock.settle();
    while (isPending) {
      isPending = false;
      engine.flushSync();
      await clock.settle();
    }
  }
  return {
    get pendingTimers() {
      return timers.pendingTimers;
    },
    jump(ms: number) {
      jumped += ms;
    },
    /** Lets a reader run again for another reason. */
    async poke(key: string) {
      poke.put(key, runs);
      await settle();
    },
    instants,
    /** Every answer that was given, in order. */
    answers,
    get runs() {
      return runs;
    },
    async ask(key: string, instant: number | string) {
      asked.set(key, instant);
      const root = engine.hold(node, key);
      await settle();
      return root;
    },
    settle,
    async advance(ms: number) {
      await clock.advance(ms);
      await settle();
    },
    answer(key: string) {
      const settled = engine.valueOf(node, key);
      return settled?.state === 'value' ? settled.value : settled?.state;
    },
  };
}

test('an instant is false before it comes, and wakes its readers exactly when it does', async () => {
  const all = stage();
  await all.ask('a', START + 5000);
  assert.equal(all.answer('a'), false);
  await all.advance(4999);
  assert.equal(all.answer('a'), false);
  await all.advance(1);
  assert.equal(all.answer('a'), true);
});

test('an instant that has passed is true at once, and takes no timer', async () => {
  const all = stage();
  await all.ask('a', START);
  await all.ask('b', START - 1);
  assert.deepEqual([all.answer('a'), all.answer('b'), all.pendingTimers], [true, true, 0]);
  assert.equal(all.answers.includes(false), false, 'and never was anything else');
});

test('an instant may be given as Kubernetes writes times', async () => {
  const all = stage();
  await all.ask('a', formatTime(START + 1000));
  await all.ask('b', START + 1000);
  assert.equal(all.pendingTimers, 1, 'both are the same instant');
  await all.advance(1000);
  assert.deepEqual([all.answer('a'), all.answer('b')], [true, true]);
});

test('an instant that nothing waits for any more takes no timer, and is right when it is asked for again', async () => {
  const all = stage();
  const root = await all.ask('a', START + 1000);
  assert.equal(all.pendingTimers, 1);
  root.stop();
  await all.settle();
  assert.equal(all.pendingTimers, 0);
  await all.advance(5000);
  all.answers.length = 0;
  await all.ask('a', START + 1000);
  assert.equal(all.answer('a'), true);
  assert.equal(all.answers.includes(false), false);
});

test('waiting costs nothing: readers run when they ask and when the instant comes', async () => {
  const all = stage();
  await all.ask('a', START + 1000);
  const { runs } = all;
  await all.advance(999);
  assert.equal(all.runs, runs);
  await all.advance(1);
  assert.equal(all.runs, runs + 1);
});

test('an instant that always or never is needs no timer', async () => {
  const all = stage();
  await all.ask('a', Number.POSITIVE_INFINITY);
  await all.ask('b', Number.NEGATIVE_INFINITY);
  assert.deepEqual([all.answer('a'), all.answer('b'), all.pendingTimers], [false, true, 0]);
});

test('a text that is no instant is an error, and not a time that never comes', async () => {
  const all = stage();
  await all.ask('a', Number.NaN);
  await all.ask('b', 'tomorrow');
  assert.deepEqual([all.answer('a'), all.answer('b')], ['error', 'error']);
});

test('after the end no timer runs, and none is begun', async () => {
  const all = stage();
  await all.ask('a', START + 1000);
  all.instants.stop();
  assert.equal(all.pendingTimers, 0);
  await all.ask('b', START + 2000);
  assert.equal(all.pendingTimers, 0);
});

test('an instant that the clock has jumped over is reached within a minute, and at once by a reader that runs', async () => {
  const all = stage();
  await all.ask('a', START + 3_600_000);
  await all.ask('b', START + 3_600_000);
  await all.ask('later', START + 36_000_000);
  all.jump(5 * 3_600_000);
  await all.poke('a');
  assert.deepEqual([all.answer('a'), all.answer('later')], [true, false]);
  await all.advance(60_000);
  assert.deepEqual([all.answer('a'), all.answer('b'), all.answer('later')], [true, true, false]);
});

test('an instant that the clock was set back from is reached when the clock comes to it again', async () => {
  const all = stage();
  await all.ask('a', START + 5000);
  all.jump(-3_600_000);
  await all.advance(5000);
  assert.equal(all.answer('a'), false);
  await all.advance(3_600_000);
  assert.equal(all.answer('a'), true);
  assert.equal(all.pendingTimers, 0);
});

test('an instant that is weeks away is false until its day', async () => {
  const all = stage();
  await all.ask('a', START + 40 * 86_400_000);
  await all.advance(39 * 86_400_000);
  assert.equal(all.answer('a'), false);
  await all.advance(86_400_000);
  assert.equal(all.answer('a'), true);
});

test('an instant that the clock has jumped over is reached within a minute although nothing else happens', async () => {
  const all = stage();
  await all.ask('a', START + 3_600_000);
  all.jump(5 * 3_600_000);
  await all.advance(60_000);
  assert.equal(all.answer('a'), true);
  assert.equal(all.pendingTimers, 0);
});

test('a first read of an instant that has not come runs its reader once, and again when it comes', async () => {
  const { ask, advance, answers } = stage();
  await ask('a', START + 1_000_000);
  assert.deepEqual(answers, [false]);
  await advance(1_000_000);
  assert.deepEqual(answers, [false, true]);
});
