import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isFighting, judgeFight } from '../maintenance/fights.ts';
import { createdAt, latestMoment, partsBegun } from './moments.ts';

const at = (now: number) => ({ reached: (instant: number | string) => now >= Number(instant) });

describe('time that is only asked whether a moment has come', () => {
  test('gives the last full step, in few questions', () => {
    fc.assert(
      fc.property(fc.nat(1e12), fc.nat(1e12), fc.integer({ min: 1, max: 60_000 }), (since, passed, step) => {
        let questions = 0;
        const clock = at(since + passed);
        const found = latestMoment({ reached: (instant) => (questions++, clock.reached(instant)) }, since, step);
        assert.equal(found, since + Math.floor(passed / step) * step);
        assert.ok(questions < 90);
      }),
    );
  });

  test('gives the parts of a span that have begun, the first at once', () => {
    assert.deepEqual(
      [0, 11, 12, 47, 48, 1000].map((now) => partsBegun(at(now), 0, 60, 5)),
      [1, 1, 2, 4, 5, 5],
    );
  });

  test('begins anywhere for what is only proposed', () => {
    assert.equal(createdAt(undefined), 0);
    assert.equal(createdAt('2026-01-01T00:00:00Z'), Date.parse('2026-01-01T00:00:00Z'));
  });
});

describe('being written over', () => {
  const judge = (seconds: number, ...before: number[]) => judgeFight(at(seconds * 1000), before, () => seconds);

  test('once or twice is answered at once', () => {
    assert.deepEqual(judge(100), { times: [100], isConflict: false, isWaiting: false });
    assert.deepEqual(judge(110, 100), { times: [100, 110], isConflict: false, isWaiting: false });
  });

  test('three times within ten minutes is a fight, and the next answer waits longer each time', () => {
    assert.deepEqual(judge(120, 100, 110), { times: [100, 110, 120], isConflict: true, isWaiting: false });
    assert.equal(judge(149, 100, 110, 120).isWaiting, true);
    assert.equal(judge(150, 100, 110, 120).isWaiting, false);
    assert.equal(judge(209, 100, 110, 120, 150).isWaiting, true);
    assert.equal(judge(210, 100, 110, 120, 150).isWaiting, false);
  });

  test('long ago is forgotten', () => {
    assert.deepEqual(judge(800, 100, 110, 120), { times: [800], isConflict: false, isWaiting: false });
    assert.equal(isFighting(at(200_000), [100, 110, 120]), true);
    assert.equal(isFighting(at(800_000), [100, 110, 120]), false);
  });
});
