// Inputs of a plan as they are kept in an annotation, and compared after a restart.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Input } from '../engine/index.ts';
import { changedInputs, formatInputs } from './cause.ts';

const input = (key: string, digest: string, table = 'Secret'): Input =>
  ({ source: { table, key }, digest, via: [`reads ${key}`] }) as unknown as Input;

describe('inputs after a restart', () => {
  const before =
    formatInputs([input('a', 'digest-a'), input('b', 'digest-b'), input('a', 'digest-c', 'ConfigMap')]) ?? '';
  const named = (...inputs: Input[]) =>
    changedInputs(inputs, before).map(
      ({ source, before: from, after }) => `${source.table} ${source.key}: ${from} → ${after}`,
    );

  test('that differ are named, with both digests, and no others', () => {
    assert.deepEqual(named(input('a', 'digest-x'), input('b', 'digest-b')), ['Secret a: digest-a → digest-x']);
  });

  test('of one name and different kinds are distinguished', () => {
    assert.deepEqual(named(input('a', 'digest-a'), input('a', 'digest-x', 'ConfigMap')), [
      'ConfigMap a: digest-c → digest-x',
    ]);
  });

  test('that were not read before are named only where no other differs', () => {
    assert.deepEqual(named(input('a', 'digest-x'), input('new', 'digest-n')), ['Secret a: digest-a → digest-x']);
    assert.deepEqual(named(input('a', 'digest-a'), input('new', 'digest-n')), ['Secret new: unknown → digest-n']);
  });

  test('that are all as before name nothing', () => {
    assert.deepEqual(named(input('a', 'digest-a'), input('b', 'digest-b')), []);
  });

  test('carry the way on which they were read', () => {
    assert.deepEqual(changedInputs([input('a', 'digest-x')], before)[0]?.via, ['reads a']);
  });

  test('are written in one order, and not at all where there are none', () => {
    assert.equal(formatInputs([input('b', '2'), input('a', '1')]), formatInputs([input('a', '1'), input('b', '2')]));
    assert.equal(formatInputs([]), undefined);
  });
});
