import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldLease } from './lease-record.ts';

test('the duration in a lease is never shorter than the one that its holder counts on', () => {
  const ref = { namespace: 'default', name: 'test' };
  const secondsFor = (ms: number) => heldLease(ref, undefined, 'a', ms, 0).spec?.leaseDurationSeconds;
  assert.deepEqual([15_000, 15_001, 15_999, 500].map(secondsFor), [15, 16, 16, 1]);
});
