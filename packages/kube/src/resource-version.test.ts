import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compareResourceVersions, isNewerResourceVersion } from './resource-version.ts';

test('decimal versions compare as numbers of any size', () => {
  const version = fc.bigInt({ min: 1n, max: 2n ** 70n });
  fc.assert(
    fc.property(version, version, (a, b) => {
      assert.equal(compareResourceVersions(`${a}`, `${b}`), a < b ? -1 : a > b ? 1 : 0);
      assert.equal(isNewerResourceVersion(`${a}`, `${b}`), a > b);
    }),
  );
});

test('equal versions are equal even when they are not numbers', () => {
  assert.equal(compareResourceVersions('abc', 'abc'), 0);
});

test('versions that are not plain decimal numbers do not compare', () => {
  for (const other of ['abc', '01', '', '1.5', '-1', '0', ' 1', '1\n', undefined]) {
    assert.equal(compareResourceVersions(other, '2'), undefined, `${other} and 2`);
    assert.equal(compareResourceVersions('2', other), undefined, `2 and ${other}`);
    assert.equal(isNewerResourceVersion('2', other), false);
  }
});
