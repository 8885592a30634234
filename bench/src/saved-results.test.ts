import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { machine } from './measure/machine.ts';
import { result } from './measure/result.ts';
import { merged } from './saved-results.ts';

const at = (isBusy: boolean) => ({ ...machine(new Date('2026-01-01T00:00:00Z')), isBusy });
const run = (isBusy: boolean, figures: Record<string, number>) => ({
  bench: 'x',
  machine: at(isBusy),
  results: Object.entries(figures).map(([name, value]) => result({ name, unit: 'ms', rounds: [value] })),
});
const values = (saved: ReturnType<typeof merged>) => saved.results.map(({ name, value }) => [name, value]);

describe('saved results', () => {
  test('a run replaces the figures that it measured and keeps the others', () => {
    const first = merged(undefined, run(false, { b: 1, a: 2 }));
    assert.deepEqual(values(merged(first, run(false, { b: 3 }))), [
      ['a', 2],
      ['b', 3],
    ]);
  });

  test('a figure from a busy machine does not replace one from a quiet machine', () => {
    const quiet = merged(undefined, run(false, { a: 1 }));
    const later = merged(quiet, run(true, { a: 9, b: 5 }));
    assert.deepEqual(values(later), [
      ['a', 1],
      ['b', 5],
    ]);
    assert.deepEqual(values(merged(later, run(false, { b: 4 }))), [
      ['a', 1],
      ['b', 4],
    ]);
  });

  test('every figure names its commit and the load before its run', () => {
    const [figure] = merged(undefined, run(false, { a: 1 })).results;
    assert.match(figure?.machine.commit ?? '', /^[0-9a-f]{12}\+?$|^unknown$/);
    assert.equal(typeof figure?.machine.load, 'number');
  });
});
