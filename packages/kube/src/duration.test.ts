import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatDuration, formatDurationNanos, parseDuration, parseDurationNanos } from './duration.ts';

describe('a duration', () => {
  it('durations are parsed as Go parses them', () => {
    for (const [text, ms] of [
      ['0', 0],
      ['-0', 0],
      ['0s', 0],
      ['5s', 5_000],
      ['1h30m', 5_400_000],
      ['300ms', 300],
      ['-1.5h', -5_400_000],
      ['+5s', 5_000],
      ['1.s', 1_000],
      ['.5s', 500],
      ['1us', 0.001],
      ['1µs', 0.001],
      ['1μs', 0.001],
      ['2ns', 0.000002],
      ['1m1m', 120_000],
      ['10s5m', 310_000],
      ['0.9999999999s', 999.999999],
      ['00000000000000000000000000000001s', 1_000],
    ] as const) {
      assert.equal(parseDuration(text), ms, text);
    }
    assert.equal(parseDurationNanos('9223372036854775807ns'), 2n ** 63n - 1n);
    assert.equal(parseDurationNanos('-9223372036854775808ns'), -(2n ** 63n));
    assert.equal(parseDurationNanos('0.33333333333333333333333333333333333h'), 1_199_999_999_999n);
  });

  it('durations are formatted as Go formats them', () => {
    for (const [ms, text] of [
      [0, '0s'],
      [1, '1ms'],
      [0.0015, '1.5µs'],
      [0.000001, '1ns'],
      [1_500, '1.5s'],
      [60_000, '1m0s'],
      [5_400_000, '1h30m0s'],
      [86_400_000, '24h0m0s'],
      [-61_001, '-1m1.001s'],
    ] as const) {
      assert.equal(formatDuration(ms), text);
    }
  });

  it('an invalid duration is refused with the problem and the remedy', () => {
    for (const [text, problem] of [
      ['', 'there is no number in it'],
      ['-', 'there is no number in it'],
      ['5', 'the number 5 has no unit'],
      ['1h5', 'the number 5 has no unit'],
      ['5d', 'the unit "d" is not one of ns, us, ms, s, m, h'],
      ['5 s', 'the unit " s" is not one of'],
      ['s', 'there is no number before "s"'],
      ['.s', 'there is no number before ".s"'],
      ['--1s', 'there is no number before "-1s"'],
      ['1constructor', 'the unit "constructor" is not one of'],
      ['9223372036854775808ns', 'it is longer than 64 bits'],
      ['2562048h', 'it is longer than 64 bits'],
      [`${'9'.repeat(1000)}h`, 'it is longer than 64 bits'],
    ] as const) {
      assert.throws(
        () => parseDuration(text),
        (error: Error) =>
          error.message.includes(`is not a duration: ${problem}`) &&
          error.message.includes('; write numbers with units'),
        text,
      );
    }
  });

  it('a duration that is formatted and parsed stays the same', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanos) => {
        assert.equal(parseDurationNanos(formatDurationNanos(nanos)), nanos);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
        assert.equal(parseDuration(formatDuration(ms)), ms);
      }),
    );
  });
});
