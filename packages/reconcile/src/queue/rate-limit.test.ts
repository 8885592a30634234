import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBucket } from './rate-limit.ts';

test('a clock that is set back takes no tokens from the bucket, and earns none', () => {
  let now = 100_000;
  const clock = { now: () => now, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };
  const bucket = createBucket(clock, 10, 5);
  now = 0;
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map(() => bucket.take()),
    [true, true, true, true, true, false],
  );
  now = 100;
  assert.deepEqual([bucket.take(), bucket.take()], [true, false], 'it earns from then on');
});
