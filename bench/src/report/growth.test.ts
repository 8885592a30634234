import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { machine } from '../measure/machine.ts';
import { result } from '../measure/result.ts';
import { exponentOf, growthCurves } from './growth.ts';

const at = machine(new Date('2026-01-01T00:00:00Z'));
const figure = (size: number, value: number, peer?: number) => ({
  ...result({
    name: `edit at ${size}`,
    unit: 'ms',
    rounds: [value],
    growth: { of: 'edit', size },
    ...(peer !== undefined && { peer: { name: 'Other', rounds: [peer] } }),
  }),
  machine: at,
});

describe('growth', () => {
  test('the exponent of a constant, a linear and a quadratic cost is 0, 1 and 2', () => {
    const cost = (exponent: number) => [100, 1000, 10_000].map((x) => ({ x, y: 3 * x ** exponent }));
    for (const exponent of [0, 1, 2]) assert.ok(Math.abs(exponentOf(cost(exponent)) - exponent) < 1e-9);
  });

  test('figures of one cost become one curve by size, with that of the peer beside it', () => {
    const [curve, ...others] = growthCurves([figure(1000, 2, 20), figure(100, 2, 2), figure(10_000, 2, 200)]);
    assert.deepEqual(others, []);
    assert.deepEqual(
      curve?.points.map(({ x }) => x),
      [100, 1000, 10_000],
    );
    assert.equal(curve?.exponent, 0);
    assert.ok(Math.abs((curve?.peer?.exponent ?? 0) - 1) < 1e-9);
  });

  test('a cost at one size has no curve', () => {
    assert.deepEqual(growthCurves([figure(100, 2)]), []);
  });
});
