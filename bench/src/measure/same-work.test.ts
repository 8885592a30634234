import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameWork } from './same-work.ts';

const side = (name: string, work: Record<string, string>) => ({ name, work: new Map(Object.entries(work)) });

test('sides with the same results pass, in whatever order they were made', () => {
  assertSameWork([]);
  assertSameWork([side('ours', { a: '1' })]);
  assertSameWork([side('ours', { a: '1', b: '2' }), side('theirs', { b: '2', a: '1' })]);
});

test('a side that left something out, or has another result, fails the measurement', () => {
  const ours = side('ours', { a: '1', b: '2' });
  assert.throws(
    () => assertSameWork([ours, side('theirs', { a: '1' })]),
    /ours and theirs did different work \(1 of 2 results\): b is 2 and nothing/,
  );
  assert.throws(() => assertSameWork([side('ours', {}), side('theirs', { a: '1' })]), /a is nothing and 1/);
  assert.throws(() => assertSameWork([ours, ours, side('third', { a: '3', b: '2' })]), /ours and third .*a is 1 and 3/);
});
