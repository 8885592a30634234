import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatVerdicts, judge } from './verdict.ts';

/** A sample in each tenth of a minute, for an hour. */
const series = (value: (minute: number) => number, noise = 0) => ({
  program: 'server',
  figure: 'memory',
  unit: 'MB',
  noise,
  by: 'median' as 'median' | 'peak',
  points: Array.from({ length: 601 }, (_, index) => ({ minute: index / 10, value: value(index / 10) })),
});

describe('the verdict over a figure', () => {
  test('accepts a warm-up before the reference window and noise after it', () => {
    const verdict = judge(
      series((minute) => (minute < 9 ? 50 + minute * 5 : 100 + ((minute * 10) % 9))),
      60,
    );
    assert.equal(verdict.isFlat, true);
  });

  test('refuses a leak of 11 percent between the windows and accepts one of 9', () => {
    const leak = (percent: number) =>
      judge(
        series((minute) => 100 + (percent * (minute - 15)) / 40),
        60,
      ).isFlat;
    assert.equal(leak(11), false);
    assert.equal(leak(9), true);
  });

  test('ignores one high sample, because the medians count', () => {
    assert.equal(
      judge(
        series((minute) => (minute === 59 ? 900 : 100)),
        60,
      ).isFlat,
      true,
    );
  });

  test('compares the peaks of a figure that faults empty', () => {
    const cut = series((minute) => (minute < 20 && minute % 4 > 1 ? 5 : 100));
    assert.equal(judge(cut, 60).isFlat, false);
    assert.equal(judge({ ...cut, by: 'peak' }, 60).isFlat, true);
    const leaked = series((minute) => (minute % 4 > 1 ? 5 : 100 + minute / 2));
    assert.equal(judge({ ...leaked, by: 'peak' }, 60).isFlat, false);
  });

  test('accepts a rise below the noise of the figure', () => {
    const rise = series((minute) => (minute > 30 ? 3 : 1), 2);
    assert.equal(judge(rise, 60).isFlat, true);
    assert.equal(judge({ ...rise, noise: 1 }, 60).isFlat, false);
  });

  test('refuses a figure that was not measured in one of the windows', () => {
    const all = series(() => 100);
    const ended = { ...all, points: all.points.filter(({ minute }) => minute < 40) };
    const verdict = judge(ended, 60);
    assert.equal(verdict.isFlat, false);
    assert.match(formatVerdicts([judge(all, 60), verdict]), /^ .*\nGROWS +server .*not measured +MB\nflat /);
  });
});
