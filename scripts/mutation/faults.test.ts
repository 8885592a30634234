import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FAULTS } from './faults.ts';
import { randomFaults, sampleOf } from './random-faults.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('every fault can be planted: its text is in its file once, and its tests are there', () => {
  const unusable = FAULTS.filter(
    ({ file, from, to, tests }) =>
      readFileSync(join(ROOT, file), 'utf8').split(from).length !== 2 ||
      from === to ||
      tests.length === 0 ||
      !tests.every((path) => existsSync(join(ROOT, path))),
  );
  assert.deepEqual(
    unusable.map(({ name }) => name),
    [],
  );
  assert.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length);
  assert.ok(FAULTS.length >= 71, `${FAULTS.length} faults`);
});

test('a sample is the same for the same seed, and another for another', () => {
  const all = Array.from({ length: 50 }, (_, at) => at);
  assert.deepEqual(sampleOf(all, 10, 3), sampleOf(all, 10, 3));
  assert.notDeepEqual(sampleOf(all, 10, 3), sampleOf(all, 10, 4));
  assert.equal(new Set(sampleOf(all, 10, 3)).size, 10);
  assert.deepEqual(sampleOf(all, 99, 3), all);
});

test('random faults of a file are the same for the same seed, and change one line', () => {
  const file = 'packages/reconcile/src/queue/rate-limit.ts';
  const faults = randomFaults([file], 5, 7);
  assert.deepEqual(faults, randomFaults([file], 5, 7));
  assert.equal(faults.length, 5);
  for (const { from, to } of faults) {
    const after = to.split('\n');
    assert.equal(from.split('\n').filter((line, at) => line !== after[at]).length, 1);
  }
});
