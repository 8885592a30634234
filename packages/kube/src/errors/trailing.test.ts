import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import { sentence } from './coded-error.ts';
import { withoutTrailing } from './trailing.ts';

test('characters of the set are cut at the end alone', () => {
  const cases: [text: string, characters: string, expected: string][] = [
    ['', '/', ''],
    ['/', '/', ''],
    ['/a//b//', '/', '/a//b'],
    ['no. end; .', '.; ', 'no. end'],
    ['a', '', 'a'],
  ];
  for (const [text, characters, expected] of cases) assert.equal(withoutTrailing(text, characters), expected);
});

test('texts of users take linear time in messages, quantities and durations', () => {
  const began = process.threadCpuUsage();
  const long = 400_000;
  assert.equal(sentence(`${'.'.repeat(long)}x.`, 'y'), `${'.'.repeat(long)}x; y`);
  assert.throws(() => parseQuantity(`${'9'.repeat(long)}!`), /is not a quantity/);
  assert.throws(() => parseQuantity('9'.repeat(long)), /too many digits/);
  assert.throws(() => parseDuration('.'.repeat(long)), /is not a duration/);
  const { user } = process.threadCpuUsage(began);
  // Quadratic time is minutes.
  assert.ok(user < 3_000_000, `${Math.round(user / 1000)} ms`);
});
