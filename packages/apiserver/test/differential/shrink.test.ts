import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateSequence } from './generate.ts';
import type { Sequence } from './sequence.ts';
import { shrink } from './shrink.ts';

test('a sequence shrinks to the requests without which it does not differ', async () => {
  const sequence = generateSequence(7);
  const needs = ({ requests }: Sequence) => [3, 11].every((id) => requests.some((request) => request.id === id));
  const names = new Set<string>();
  const shrunk = await shrink(sequence, async (candidate) => {
    assert.ok(!names.has(candidate.name), 'each try has a name of its own');
    names.add(candidate.name);
    return needs(candidate);
  });
  assert.deepEqual(
    shrunk.requests.map(({ id }) => id),
    [3, 11],
  );
});

test('the same seed gives the same sequence, of at least twenty requests', () => {
  for (const seed of [1, 2, 3]) assert.deepEqual(generateSequence(seed), generateSequence(seed));
  assert.ok(generateSequence(1).requests.length >= 20);
  assert.notDeepEqual(generateSequence(1).requests, generateSequence(2).requests);
});
