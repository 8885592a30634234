import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatMicroTime, formatTime, parseTime } from './timestamps.ts';

const NOON = Date.UTC(2026, 0, 31, 12, 0, 0);

describe('times on the wire', () => {
  it('a Time has whole seconds, cut and not rounded', () => {
    assert.equal(formatTime(NOON), '2026-01-31T12:00:00Z');
    assert.equal(formatTime(NOON + 999.9), '2026-01-31T12:00:00Z');
    assert.equal(formatTime(-1), '1969-12-31T23:59:59Z');
  });

  it('a MicroTime has six digits', () => {
    assert.equal(formatMicroTime(NOON), '2026-01-31T12:00:00.000000Z');
    assert.equal(formatMicroTime(NOON + 1.5), '2026-01-31T12:00:00.001500Z');
  });

  it('times with any offset and precision are parsed', () => {
    for (const [text, expected] of [
      ['2026-01-31T12:00:00Z', NOON],
      ['2026-01-31T14:30:00+02:30', NOON],
      ['2026-01-31T11:00:00-01:00', NOON],
      ['2026-01-31T12:00:00.25Z', NOON + 250],
      ['2026-01-31T12:00:00.000001999Z', NOON + 0.001],
      ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
      ['0001-01-01T00:00:00Z', -62135596800000],
    ] as const) {
      assert.equal(parseTime(text), expected, text);
    }
  });

  it('a time that does not exist is refused', () => {
    for (const text of [
      '',
      'yesterday',
      '2026-01-31',
      '2026-01-31 12:00:00Z',
      '2026-01-31T12:00:00',
      '2026-02-30T12:00:00Z',
      '2026-13-01T12:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T12:60:00Z',
      '2026-01-31T12:00:00+24:00',
      '2026-01-31T12:00:00Z\n',
    ]) {
      assert.throws(() => parseTime(text), /is not a time: .*; write it as in RFC 3339/, text);
    }
    assert.throws(() => formatTime(Number.NaN), /is not a time/);
  });

  it('a time that is formatted and parsed stays the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62135596800, max: 253402300799 }), fc.nat(999_999), (seconds, micros) => {
        assert.equal(parseTime(formatTime(seconds * 1000)), seconds * 1000);
        // From 2109 on (2^42 ms), a double cannot hold microseconds beside the milliseconds.
        fc.pre(seconds > 0 && seconds < 4_398_046_511);
        const text = `${formatTime(seconds * 1000).slice(0, 19)}.${String(micros).padStart(6, '0')}Z`;
        assert.equal(formatMicroTime(parseTime(text)), text);
      }),
    );
  });
});
