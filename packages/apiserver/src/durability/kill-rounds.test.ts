import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { runs } from '@capstan/testing';
import { killRounds } from './kill-rounds.ts';
import { createLedger } from './ledger.ts';
import { seededRandom } from './seeded-random.ts';

/** As many as fit into a normal run of the tests; `npm run durability` does a thousand. */
const ROUNDS = runs(8, 50, 'CAPSTAN_KILL_ROUNDS');

test(`after ${ROUNDS} kills under load every acknowledged write is there, and no revision was used twice`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-durability-'));
  const { problems, writes } = await killRounds({ rounds: ROUNDS, random: seededRandom(20261115), folder });
  assert.deepEqual(problems, [], `the files are in ${folder}`);
  assert.ok(writes > ROUNDS, `the server was under load: ${writes} writes`);
});

test('the ledger notices a lost write, an undone change, a write that no client made, and a revision that comes again', () => {
  const object = (name: string, value: string, revision: number): UnknownObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, resourceVersion: String(revision) },
    data: { value },
  });
  const ledger = createLedger();
  for (const [key, revision] of [
    ['a', 2],
    ['b', 3],
    ['c', 4],
  ] as const) {
    ledger.sent(key, 'one');
    ledger.acknowledged(key, 'one', revision);
  }
  ledger.sent('b', 'two');
  ledger.acknowledged('b', 'two', 5);
  ledger.sent('c', undefined);
  ledger.seen('ADDED', object('a', 'one', 2));
  const wrong = ledger.check(4, [object('b', 'one', 3), object('d', 'one', 4)]);
  assert.deepEqual(wrong, [
    'the server is back at revision 4, and 5 had been seen',
    'a should be one and is absent',
    'b should be two and is one',
    'd should be absent and is one',
  ]);
  assert.deepEqual(ledger.checkPast(1, []), ['a watcher had seen revision 2, and it is gone']);
  ledger.sent('e', 'one');
  ledger.acknowledged('e', 'one', 5);
  assert.match(ledger.problems[0] ?? '', /^revision 5 was given again/);
});
