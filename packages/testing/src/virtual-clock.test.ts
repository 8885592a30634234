import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '@capstan/kube';
import * as fc from 'fast-check';
import { createVirtualClock } from './virtual-clock.ts';

test('time stands still until it is advanced', async () => {
  const clock = createVirtualClock({ start: 1000 });
  let fired = false;
  clock.after(5, () => (fired = true));
  await clock.settle();
  assert.equal(clock.now(), 1000);
  assert.equal(fired, false);
  await clock.advance(5);
  assert.equal(clock.now(), 1005);
  assert.equal(fired, true);
});

test('timers fire in the order of their time, equal times in the order they were set', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 40 }), async (delays) => {
      const clock = createVirtualClock({ start: 0 });
      const fired: [at: number, index: number][] = [];
      delays.forEach((delay, index) => clock.after(delay, () => fired.push([clock.now(), index])));
      await clock.advance(20);
      const expected = delays.map((delay, index) => [delay, index]);
      expected.sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0));
      assert.deepEqual(fired, expected);
    }),
  );
});

test('the effects of one timer come to rest before the next one fires', async () => {
  const clock = createVirtualClock();
  const log: string[] = [];
  clock.after(10, () => {
    void (async () => {
      for (let turn = 0; turn < 500; turn++) await Promise.resolve();
      await clock.yield();
      await clock.yield();
      log.push('first, after promises and yields');
    })();
  });
  clock.after(10, () => log.push('second'));
  await clock.advance(10);
  assert.deepEqual(log, ['first, after promises and yields', 'second']);
});

test('a timer that is set while time advances fires within the same advance when it falls due', async () => {
  const clock = createVirtualClock({ start: 0 });
  const times: number[] = [];
  const tick = () => {
    times.push(clock.now());
    clock.after(30, tick);
  };
  clock.after(30, tick);
  await clock.advance(100);
  assert.deepEqual(times, [30, 60, 90]);
  assert.equal(clock.now(), 100);
  assert.equal(clock.pendingTimers, 1);
});

test('a cancelled timer neither fires nor counts, and cancelling twice or too late is harmless', async () => {
  const clock = createVirtualClock();
  let fired = 0;
  const first = clock.after(5, () => fired++);
  const second = clock.after(5, () => fired++);
  first.cancel();
  first.cancel();
  assert.equal(clock.pendingTimers, 1);
  await clock.advance(10);
  second.cancel();
  assert.equal(fired, 1);
});

test('a timer never fires synchronously, not even one of zero or negative length', async () => {
  const clock = createVirtualClock({ start: 50 });
  const times: number[] = [];
  clock.after(0, () => times.push(clock.now()));
  clock.after(-10, () => times.push(clock.now()));
  assert.deepEqual(times, []);
  await clock.advance(0);
  assert.deepEqual(times, [50, 50]);
});

test('runUntilIdle jumps to the last timer and says that it is idle', async () => {
  const clock = createVirtualClock({ start: 0 });
  let done = false;
  void sleep(clock, 86_400_000).then(async () => {
    await sleep(clock, 5);
    done = true;
  });
  assert.equal(await clock.runUntilIdle(1e9), 'idle');
  assert.equal(clock.now(), 86_400_005);
  assert.equal(done, true);
});

test('runUntilIdle stops at the moment its predicate holds', async () => {
  const clock = createVirtualClock({ start: 0 });
  let beats = 0;
  const beat = () => {
    beats++;
    clock.after(1000, beat);
  };
  clock.after(1000, beat);
  assert.equal(await clock.runUntilIdle(1e9, () => beats === 3), 'held');
  assert.equal(clock.now(), 3000);
});

test('runUntilIdle stands at its limit when work goes on for ever', async () => {
  const clock = createVirtualClock({ start: 0 });
  const beat = () => void clock.after(1000, beat);
  beat();
  assert.equal(await clock.runUntilIdle(3500), 'late');
  assert.equal(clock.now(), 3500);
});

test('a timer that sets itself again without time passing is reported instead of hanging', async () => {
  const clock = createVirtualClock();
  const spin = () => void clock.after(0, spin);
  spin();
  await assert.rejects(clock.advance(1), /without time passing/);
});

test('the clock refuses to run inside itself', async () => {
  const clock = createVirtualClock();
  let refusal: Promise<void> | undefined;
  clock.after(1, () => {
    refusal = assert.rejects(clock.advance(1), /while it is running/);
  });
  await clock.advance(5);
  assert.ok(refusal);
  await refusal;
});

test('an error thrown by a timer comes out of advance', async () => {
  const clock = createVirtualClock();
  clock.after(1, () => {
    throw new Error('from the timer');
  });
  await assert.rejects(clock.advance(1), /from the timer/);
});
