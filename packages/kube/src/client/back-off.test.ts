import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { backOff, spread } from './back-off.ts';

const LIMITS = { firstMs: 200, longestMs: 5_000 };

test('a wait doubles from the first to the longest, for any number of failures', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 5_000].map((failures) => backOff(failures, LIMITS)),
    [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000],
  );
  assert.deepEqual(
    [1, 2, 3].map((failures) => backOff(failures, { ...LIMITS, factor: 5 })),
    [200, 1_000, 5_000],
  );
});

test('a spread wait is between half and the whole of the exact one', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (failures, drawn) => {
        const exact = backOff(failures, LIMITS);
        const wait = backOff(failures, LIMITS, () => drawn);
        assert.ok(wait >= exact / 2 && wait < exact, `${wait} of ${exact}`);
      },
    ),
  );
  assert.equal(
    spread(100, () => 0),
    50,
  );
});

test("no wait is shorter than the server's Retry-After, and clients with the same Retry-After are spread", () => {
  assert.equal(backOff(1, LIMITS, undefined, 10_000), 10_000);
  assert.equal(
    backOff(1, LIMITS, () => 0, 10_000),
    10_000,
  );
  assert.equal(
    backOff(1, LIMITS, () => 0.5, 10_000),
    10_500,
  );
  assert.equal(
    backOff(6, LIMITS, () => 0, 100),
    2_500,
  );
});
