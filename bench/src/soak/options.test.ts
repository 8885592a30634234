import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseSoak } from './options.ts';

describe('the flags of a soak', () => {
  test('have defaults, minutes aside', () => {
    assert.deepEqual(parseSoak(['--minutes', '60']), { minutes: 60, seed: 1, out: 'artifacts/soak' });
    assert.deepEqual(parseSoak(['--minutes=1.5', '--seed', '7', '--out', 'x']), { minutes: 1.5, seed: 7, out: 'x' });
  });

  for (const args of [
    [],
    ['--minutes', '0'],
    ['--minutes', '0.5'],
    ['--minutes', '-1'],
    ['--minutes', '1e3'],
    ['--minutes', 'NaN'],
    ['--minutes', ''],
    ['--minutes', '99999'],
    ['--minutes'],
    ['--minutes', '1', '--seed', 'x'],
    ['--minutes', '1', '--seed', '-1'],
    ['--minutes', '1', '--out', ''],
    ['--minutes', '1', '--hours', '2'],
    ['--minutes', '1', 'extra'],
  ])
    test(`are refused with a sentence: ${JSON.stringify(args)}`, () => {
      assert.equal(typeof parseSoak(args), 'string');
    });
});
