import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../server.test-support.ts';
import { createFairQueue } from './fair-queue.ts';
import { createHeldBytes } from './held-bytes.ts';
import { createLargeSteps } from './large-steps.ts';
import { createLoopTurns } from './loop-turns.ts';
import {
  createRequestSlots,
  createWatchSlots,
  type Level,
  type LevelledSender,
  weightOfWatch,
} from './request-slots.ts';

const sender = (user: string, connection: object = {}, level: Level = 'users'): LevelledSender => ({
  user,
  connection,
  level,
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a fair queue serves users in turn, and the connections of a user in turn', () => {
  const queue = createFairQueue<string>();
  const [a, b] = [{}, {}];
  for (const item of ['1', '2', '3']) queue.push(sender('greedy', a), `a${item}`);
  queue.push(sender('greedy', b), 'b1');
  queue.push(sender('modest'), 'm1');
  assert.deepEqual(
    Array.from({ length: 5 }, () => queue.shift()),
    ['a1', 'm1', 'b1', 'a2', 'a3'],
  );
  assert.deepEqual([queue.shift(), queue.size], [undefined, 0]);
});

test('a user has at most half of the slots, and a connection a quarter', async () => {
  const slots = createRequestSlots(manualClock(), { reads: 8, writes: 8 }, 1000);
  const connection = {};
  const held = [slots.enter(sender('one', connection), 'reads'), slots.enter(sender('one', connection), 'reads')];
  assert.ok(held.every((leave) => typeof leave === 'function'));
  const third = slots.enter(sender('one', connection), 'reads');
  assert.ok(third instanceof Promise, 'a third request of the connection waits');
  assert.equal(typeof slots.enter(sender('one'), 'reads'), 'function', 'another connection of the user does not');
  assert.equal(typeof slots.enter(sender('one'), 'reads'), 'function');
  assert.ok(slots.enter(sender('one'), 'reads') instanceof Promise, 'the user has half of them');
  assert.equal(typeof slots.enter(sender('two'), 'reads'), 'function', 'another user is served');
  assert.equal(typeof slots.enter(sender('one', connection), 'writes'), 'function', 'writes have slots of their own');
  const [first] = held;
  if (typeof first === 'function') first();
  assert.equal(typeof (await third), 'function');
});

test('levels do not share slots, and a request that waits too long is answered with 429', async () => {
  const clock = manualClock();
  const slots = createRequestSlots(clock, { reads: 1, writes: 1 }, 1000);
  assert.equal(typeof slots.enter(sender('one'), 'writes'), 'function');
  const waiting = assert.rejects(Promise.resolve(slots.enter(sender('two'), 'writes')), {
    message: 'Too many requests, please try again later.',
  });
  assert.equal(typeof slots.enter(sender('admin', {}, 'administrators'), 'writes'), 'function');
  await clock.advance(1000);
  await waiting;
});

test('a slot that becomes free goes to the user that has waited, not to the one with the most requests', async () => {
  const slots = createRequestSlots(manualClock(), { reads: 2, writes: 2 }, 1000);
  const connection = {};
  const leave = slots.enter(sender('greedy', connection), 'reads');
  const served: string[] = [];
  const queue = (user: string, own: object) =>
    void Promise.resolve(slots.enter(sender(user, own), 'reads')).then((leaveAgain) => {
      served.push(user);
      leaveAgain();
    });
  assert.equal(typeof slots.enter(sender('other'), 'reads'), 'function');
  for (let count = 0; count < 5; count += 1) queue('greedy', connection);
  queue('modest', {});
  if (typeof leave === 'function') leave();
  await turn();
  assert.deepEqual(served.slice(0, 3), ['greedy', 'modest', 'greedy']);
});

test('held bytes are limited by connection, by user and by level', async () => {
  const held = createHeldBytes({ connection: 10, user: 20, level: 30 });
  const [a, b] = [sender('one'), sender('one')];
  held.add(a, 10);
  assert.equal(held.hasRoom(a), false);
  assert.equal(held.room(b), undefined);
  held.add(b, 10);
  assert.equal(held.hasRoom(sender('one')), false, 'the user is at its limit');
  assert.equal(held.hasRoom(sender('two')), true);
  held.add(sender('two'), 10);
  assert.equal(held.hasRoom(sender('three')), false, 'the level is at its limit');
  assert.equal(held.hasRoom(sender('admin', {}, 'administrators')), true);
  let order = '';
  const first = held.room(a)?.then(() => (order += 'a'));
  const second = held.room(b)?.then(() => (order += 'b'));
  held.add(a, -10);
  await first;
  await turn();
  assert.equal(order, 'a', 'only the connection with room goes on');
  held.add(b, -10);
  await second;
});

test('a turn of the event loop has a budget, and the rest waits without delaying other users', async () => {
  let now = 0;
  const turns = createLoopTurns({ now: () => now });
  const order: string[] = [];
  const work = async (who: LevelledSender) => {
    const waiting = turns.next(who);
    if (waiting) await waiting;
    order.push(who.user);
    now += 6;
  };
  const greedy = sender('greedy');
  const all = [work(greedy), work(greedy), work(greedy), work(greedy), work(greedy), work(sender('modest'))];
  assert.deepEqual(order, ['greedy', 'greedy'], 'more than the budget is put off');
  await Promise.all(all);
  assert.deepEqual(order.slice(2, 4), ['greedy', 'modest']);
});

test('one step of a large request runs at a time, and the loop is left to others for as long as it took', async () => {
  let now = 0;
  const gaps: number[] = [];
  const steps = createLargeSteps({
    now: () => now,
    after(ms, call) {
      gaps.push(ms);
      now += ms;
      setImmediate(call);
    },
  });
  const order: string[] = [];
  const work = async (user: string, ...times: number[]) => {
    const own = sender(user);
    for (const ms of times) {
      await steps.next(own);
      order.push(user);
      now += ms;
    }
  };
  await Promise.all([work('greedy', 30, 30, 2), work('greedy', 30), work('modest', 10)]);
  assert.deepEqual(order, ['greedy', 'greedy', 'modest', 'greedy', 'greedy']);
  await turn();
  assert.deepEqual(gaps, [30, 30, 10, 30], 'a short step is followed at once');
});

test('a watch with a long selector counts for several', () => {
  const terms = (count: number) => Array.from({ length: count }, (_, index) => `a${index}`).join(',');
  const queries: Readonly<Record<string, string>>[] = [
    {},
    { labelSelector: 'a=b,c' },
    { labelSelector: terms(1_000) },
    { labelSelector: terms(6), fieldSelector: terms(6) },
  ];
  assert.deepEqual(queries.map(weightOfWatch), [1, 1, 100, 2]);
  const slots = createWatchSlots(100);
  const close = slots.open(sender('jane'), 100);
  assert.throws(() => slots.open(sender('jane')), { code: 429 });
  slots.open(sender('other'));
  close();
  slots.open(sender('jane'));
});
