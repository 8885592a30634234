import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordPolicies } from './policy-record.ts';

const policy = (uid: string, replaces?: string) => ({ uid, replaces });

test('the record of a broker keeps the policies that are there, and the last 500 that were deleted', () => {
  let record = recordPolicies([], [policy('first'), policy('again', 'lost')]);
  for (let count = 1; count <= 600; count++)
    record = recordPolicies(record, [policy('first'), policy('again', 'lost'), policy(`p${count}`)]);
  record = recordPolicies(record, [policy('first'), policy('again', 'lost')]);
  assert.equal(record.length, 503);
  for (const uid of ['first', 'again', 'lost', 'p101', 'p600']) assert.ok(record.includes(uid), uid);
  assert.ok(!record.includes('p100'));
  assert.deepEqual(recordPolicies(record, [policy('again', 'lost'), policy('first')]), record, 'it comes to rest');
});
