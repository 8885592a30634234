import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom } from './random.ts';

const draw = (random: () => number, count = 50) => Array.from({ length: count }, () => random());

test('the same seed gives the same sequence, another seed another one', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), (seed, other) => {
      assert.deepEqual(draw(createRandom(seed)), draw(createRandom(seed)));
      if (seed !== other) assert.notDeepEqual(draw(createRandom(seed)), draw(createRandom(other)));
    }),
  );
});

test('numbers lie in [0, 1) and spread evenly', () => {
  const numbers = draw(createRandom(7), 100_000);
  const buckets = Array.from({ length: 10 }, () => 0);
  for (const number of numbers) {
    assert.ok(number >= 0 && number < 1);
    const bucket = Math.floor(number * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) assert.ok(Math.abs(count - 10_000) < 500, `a bucket holds ${count} of 100,000`);
});

test('a fork does not depend on how many numbers were drawn before', () => {
  const fresh = createRandom(3);
  const used = createRandom(3);
  draw(used);
  assert.deepEqual(draw(fresh.fork('faults')), draw(used.fork('faults')));
  assert.notDeepEqual(draw(fresh.fork('faults')), draw(fresh.fork('jitter')));
});

test('integer includes both ends and nothing beyond them', () => {
  const random = createRandom(1);
  const seen = new Set(Array.from({ length: 1000 }, () => random.integer(-1, 2)));
  assert.deepEqual(seen, new Set([-1, 0, 1, 2]));
});

test('chance of 0 never and of 1 always happens', () => {
  const random = createRandom(1);
  for (let turn = 0; turn < 1000; turn++) {
    assert.equal(random.chance(0), false);
    assert.equal(random.chance(1), true);
  }
});

test('shuffle keeps every entry and leaves the list alone', () => {
  fc.assert(
    fc.property(fc.integer(), fc.array(fc.integer()), (seed, list) => {
      const before = [...list];
      const shuffled = createRandom(seed).shuffle(list);
      assert.deepEqual(list, before);
      assert.deepEqual(
        shuffled.toSorted((a, b) => a - b),
        before.toSorted((a, b) => a - b),
      );
    }),
  );
});

test('pick from an empty list is a clear error', () => {
  assert.throws(() => createRandom(1).pick([]), /empty list/);
});
