import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { startTerm } from './term.ts';

test('a term is over when its timer has counted it, although the clock was set back meanwhile', async () => {
  const clock = createVirtualClock();
  let back = 0;
  const term = startTerm({ ...clock, now: () => clock.now() - back, after: clock.after.bind(clock) }, 1000);
  let calls = 0;
  term.onOver(() => calls++);
  back = 60_000;
  await clock.advance(999);
  assert.deepEqual([term.isOver, calls], [false, 0]);
  await clock.advance(1);
  assert.deepEqual([term.isOver, calls], [true, 1]);
});

test('a term is over when the clock has passed its end, although its timer is late', () => {
  const clock = createVirtualClock();
  let ahead = 0;
  const term = startTerm({ ...clock, now: () => clock.now() + ahead, after: clock.after.bind(clock) }, 1000);
  assert.equal(term.isOver, false);
  ahead = 1000;
  assert.equal(term.isOver, true);
});

test('a term that was ended is over, and makes no calls', async () => {
  const clock = createVirtualClock();
  const term = startTerm(clock, 1000);
  let calls = 0;
  term.onOver(() => calls++);
  term.end();
  await clock.advance(2000);
  assert.deepEqual([term.isOver, calls], [true, 0]);
});
