// Random histories of clusters that join, leave, crash, move and join again, with the programs of all members running on servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs } from '@capstan/testing';
import { History } from './membership-history.test-support.ts';

const COUNT = runs(6, 100, 'SIMULATIONS');

const REPLAY = process.env['SIMULATION_SEED'];

async function playedProblems(history: History): Promise<string[]> {
  try {
    for (let left = 14; left > 0; left--) await history.step();
    return await history.problems();
  } catch (error) {
    return [String(error)];
  }
}

test(`${COUNT} histories of joining, leaving, crashing and moving leave no orphan and lose no policy`, async () => {
  const seeds = REPLAY === undefined ? Array.from({ length: COUNT }, (_, index) => index + 1) : [Number(REPLAY)];
  for (const seed of seeds) {
    const history = new History(seed);
    await history.open();
    try {
      const problems = await playedProblems(history);
      const replay = `SIMULATION_SEED=${seed} npm test -- operators/submariner/test/sync/membership.test.ts`;
      assert.deepEqual(problems, [], `seed ${seed}:\n  ${history.story.join('\n  ')}\nreplay: ${replay}`);
    } finally {
      await history.close();
    }
  }
});
