import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FOLD_MS, foldedScale } from './folded-time.ts';

const HOUR = 3_600_000;

describe('the folded scale of time', () => {
  it('folds idle gaps over two minutes, and keeps bursts apart', () => {
    const scale = foldedScale([1000, 2000, HOUR, HOUR + 1000], 0, HOUR + 2000, 500);
    assert.equal(scale.gaps.length, 1);
    assert.ok((scale.gaps[0]?.width ?? 0) < 30);
    assert.ok(scale.x(2000) - scale.x(1000) > 15);
  });

  it('keeps the order of moments, stays in its width, and finds the moment of a place again', () => {
    const times = fc.array(fc.integer({ min: 0, max: 10 * HOUR }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(times, fc.integer({ min: 200, max: 2000 }), (moments, width) => {
        const [from, to] = [Math.min(...moments), Math.max(...moments) + 1000];
        const scale = foldedScale(moments, from, to, width);
        const sorted = moments.toSorted((a, b) => a - b);
        let last = -1;
        for (const at of sorted) {
          const x = scale.x(at);
          assert.ok(x >= last - 1e-6 && x <= width + 1e-6);
          assert.ok(Math.abs(scale.at(x) - at) < 2);
          last = x;
        }
        const ticks = scale.ticks(60).map((at) => scale.x(at));
        for (let at = 1; at < ticks.length; at++) assert.ok((ticks[at] ?? 0) - (ticks[at - 1] ?? 0) >= 60 - 1e-6);
        for (const gap of scale.gaps) assert.ok(gap.to - gap.from >= FOLD_MS - 10_000);
      }),
    );
  });
});
