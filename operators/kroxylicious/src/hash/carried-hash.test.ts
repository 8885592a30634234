import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { carryHash } from './carried-hash.ts';

describe('the hash on a pod template', () => {
  test('starts as the first hash, and stays while nothing changes', () => {
    const first = carryHash(undefined, undefined, 'v1.a.k1.x');
    assert.deepEqual(first, { shown: 'v1.a.k1.x', is: 'v1.a.k1.x' });
    assert.deepEqual(carryHash(first, 'v1.a.k1.x', 'v1.a.k1.x'), first);
  });

  test('stays when the digest key changes, and changes with the next change of the inputs', () => {
    const first = carryHash(undefined, undefined, 'v1.a.k1.x');
    const rekeyed = carryHash(first, 'v1.a.k1.x', 'v1.a.k2.y');
    assert.equal(rekeyed.shown, 'v1.a.k1.x');
    assert.equal(carryHash(rekeyed, 'v1.a.k1.x', 'v1.a.k2.z').shown, 'v1.a.k2.z');
  });

  test('changes under a new key if a Secret may have changed while the key was lost', () => {
    const first = carryHash(undefined, undefined, 'v1.a.k1.x');
    assert.equal(carryHash(first, 'v1.a.k1.x', 'v1.a.k2.y', true).shown, 'v1.a.k2.y');
    assert.equal(carryHash(first, 'v1.a.k1.x', 'v1.a.k1.x', true).shown, 'v1.a.k1.x');
  });

  test('is read from the template if the memory is empty', () => {
    assert.equal(carryHash(undefined, 'v1.a.k1.x', 'v1.a.k2.y').shown, 'v1.a.k1.x');
    assert.equal(carryHash(undefined, 'v1.a.k1.x', 'v1.b.k1.x').shown, 'v1.b.k1.x');
  });
});
