import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { visibleRows } from './visible-rows.ts';

describe('visibleRows', () => {
  it('covers the view, and the heights add up, at every position', () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(700_000), fc.nat(2000), (count, scrollTop, viewHeight) => {
        const { first, end, above, below } = visibleRows(count, 33, scrollTop, viewHeight);
        assert.ok(first >= 0 && first <= end && end <= count);
        assert.equal(above + (end - first) * 33 + below, count * 33);
        assert.ok(end - first <= Math.ceil(viewHeight / 33) + 16);
        const reachable = Math.max(0, Math.min(scrollTop, count * 33 - viewHeight));
        assert.ok(
          above <= reachable && above + (end - first) * 33 >= Math.min(count * 33, reachable + viewHeight) - 33,
        );
      }),
    );
  });
});
