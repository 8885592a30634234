import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { carryHash } from './carried-hash.ts';

describe('the hash on a pod template', () => {
  test('is the first one, and stays while nothing changes', () => {
    const first = carryHash(undefined, undefined, 'v1.a.k1.x');
    assert.deepEqual(first, { shown: 'v1.a.k1.x', is: 'v1.a.k1.x' });
    assert.deepEqual(carryHash(first, 'v1.a.k1.x', 'v1.a.k1.x'), first);
  });

  test('stays under a new key, and changes with the next change under it', () => {
    const first = carryHash(undefined, undefined, 'v1.a.k1.x');
    const rekeyed = carryHash(first, 'v1.a.k1.x', 'v1.a.k2.y');
    assert.equal(rekeyed.shown, 'v1.a.k1.x');
    assert.equal(carryHash(rekeyed, 'v1.a.k1.x', 'v1.a.k2.z').shown, 'v1.a.k2.z');
  });

  test('is taken from the template while nothing is remembered', () => {
    assert.equal(carryHash(undefined, 'v1.a.k1.x', 'v1.a.k2.y').shown, 'v1.a.k1.x');
    assert.equal(carryHash(undefined, 'v1.a.k1.x', 'v1.b.k1.x').shown, 'v1.b.k1.x');
  });
});
