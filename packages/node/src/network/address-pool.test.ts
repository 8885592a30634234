import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '@capstan/testing';
import { createAddressPool, isInRange } from './address-pool.ts';

test('no address is given out twice, and one that was given back is not the next', () => {
  const pool = createAddressPool(createRandom(1), '127.64.0.0/29');
  const given = Array.from({ length: 6 }, () => pool.allocate());
  assert.equal(new Set(given).size, 6);
  assert.ok(given.every((one) => /^127\.64\.0\.[1-6]$/.test(one)));
  assert.throws(() => pool.allocate(), /none is left in 127\.64\.0\.0\/29/);
  pool.release(given[2] ?? '');
  assert.equal(pool.allocate(), given[2]);
  const wide = createAddressPool(createRandom(1));
  const first = wide.allocate();
  wide.release(first);
  assert.notEqual(wide.allocate(), first);
});

test('an address of the past is taken if it is free and lies in the range', () => {
  const pool = createAddressPool(() => 0);
  assert.equal(pool.claim('127.64.0.1'), true);
  assert.equal(pool.claim('127.64.0.1'), false);
  assert.equal(pool.claim('127.96.0.1'), false);
  assert.equal(pool.claim('10.0.0.1'), false);
  assert.equal(pool.claim('nonsense'), false);
  assert.equal(pool.allocate(), '127.64.0.2');
});

test('ranges are recognised by their bits', () => {
  assert.equal(isInRange('127.96.0.2', '127.96.0.0/12'), true);
  assert.equal(isInRange('127.111.255.255', '127.96.0.0/12'), true);
  assert.equal(isInRange('127.112.0.0', '127.96.0.0/12'), false);
  assert.equal(isInRange('None', '127.96.0.0/12'), false);
  assert.throws(() => isInRange('127.0.0.1', '127.0.0.1'), /not a range/);
});
