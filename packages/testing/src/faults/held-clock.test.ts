import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../virtual-clock.ts';
import { heldClock } from './held-clock.ts';

test('a held clock stands still, and what waited on it waits for the rest of its time afterwards', async () => {
  const below = createVirtualClock();
  const clock = heldClock(below);
  const began = clock.now();
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name} ${clock.now() - began}`);
  clock.after(100, note('before'));
  clock.after(100, note('cancelled')).cancel();
  await below.advance(60);
  clock.hold();
  clock.after(10, note('meanwhile'));
  await below.advance(1000);
  assert.deepEqual([fired, clock.now() - began], [[], 60]);
  clock.release();
  await below.advance(40);
  assert.deepEqual(fired, ['meanwhile 70', 'before 100']);
});
