import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { age, clockTime, count, expiry, groupDigits } from './relative-time.ts';

const now = Date.parse('2026-01-02T10:00:00Z');

describe('times', () => {
  it('an age has one unit', () => {
    for (const [at, text] of [
      ['2026-01-02T10:00:00Z', 'now'],
      ['2026-01-02T10:00:09Z', 'now'],
      ['2026-01-02T09:59:20Z', '40 s'],
      ['2026-01-02T09:57:00Z', '3 min'],
      ['2026-01-02T05:00:00Z', '5 h'],
      ['2025-12-29T10:00:00Z', '4 d'],
      ['no time', ''],
      [undefined, ''],
    ] as const)
      assert.equal(age(at, now), text);
  });

  it('an expiry counts days, then hours, and is in the past afterwards', () => {
    for (const [at, text] of [
      ['2027-01-01T10:00:00Z', 'expire in 364 days'],
      ['2026-01-03T11:00:00Z', 'expire in 25 h'],
      ['2026-01-02T10:00:01Z', 'expire in 1 h'],
      ['2026-01-02T09:59:58Z', 'expired 2 s ago'],
      ['2026-01-01T09:00:00Z', 'expired 1 d ago'],
      ['no time', ''],
    ] as const)
      assert.equal(expiry(at, now), text);
  });

  it('a time of another day has its date', () => {
    assert.match(clockTime('2026-01-02T10:00:00Z', now), /^\d\d:\d\d:\d\d$/);
    assert.match(clockTime('2025-12-20T10:00:00Z', now), /^2025-12-20 /);
    assert.equal(clockTime(undefined, now), '');
  });

  it('counts have a noun and separators', () => {
    assert.equal(count(1, 'object'), '1 object');
    assert.equal(count(10_482, 'object'), '10,482 objects');
    assert.equal(count(3, 'HTTPProxy', 'HTTPProxies'), '3 HTTPProxies');
    assert.equal(groupDigits(999), '999');
    assert.equal(groupDigits(1_234_567), '1,234,567');
  });
});
