import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { editDistance, nearest } from './nearest.ts';

describe('the nearest word', () => {
  const words = ['run', 'plan', 'why', 'status', 'crds', 'rbac'];
  const cases: [typed: string, meant: string | undefined][] = [
    ['plna', 'plan'],
    ['statsu', 'status'],
    ['PLAN', 'plan'],
    ['rbca', 'rbac'],
    ['xylophone', undefined],
    ['', undefined],
  ];
  for (const [typed, meant] of cases) {
    test(`${JSON.stringify(typed)} means ${meant ?? 'none of them'}`, () => assert.equal(nearest(typed, words), meant));
  }

  test('the distance is the same in both directions, and 0 only for equal words', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (left, right) => {
        const distance = editDistance(left, right);
        assert.equal(distance, editDistance(right, left));
        assert.equal(distance === 0, left === right);
        assert.ok(distance <= Math.max(left.length, right.length));
      }),
    );
  });
});
