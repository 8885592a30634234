import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs } from '../runs.ts';
import { simulate } from './simulate.ts';

/** How many histories all files together run; `SIMULATIONS=20000 npm test -- …` runs more. */
const COUNT = runs(60, 2000, 'SIMULATIONS');
/** `SIMULATION_SEED=123 npm test -- packages/testing/src/simulation/first-half.test.ts` replays one history. */
const REPLAY = process.env['SIMULATION_SEED'];

/** The histories of one half: two files, so that two processes share the work. */
export function testHistories(half: 0 | 1): void {
  const seeds = Array.from({ length: COUNT }, (_, index) => index + 1).filter((seed) => seed % 2 === half);
  const wanted = REPLAY === undefined ? seeds : half === 0 ? [] : [Number(REPLAY)];
  test(`${wanted.length} histories with faults and crashes end in the state that is reached without them`, async () => {
    let crashes = 0;
    for (const seed of wanted) {
      const { problems, moves, faults, crashes: died } = await simulate({ seed });
      crashes += died;
      const story = `moves:\n  ${moves.join('\n  ')}\nfaults:\n${faults}`;
      const command = `SIMULATION_SEED=${seed} npm test -- packages/testing/src/simulation/first-half.test.ts`;
      assert.deepEqual(problems, [], `seed ${seed}: ${problems.join('\n')}\n${story}\nreplay: ${command}`);
    }
    const isTame = REPLAY === undefined && crashes <= wanted.length / 4;
    assert.ok(!isTame, `only ${crashes} crashes in ${wanted.length} histories: the schedules have become too tame`);
  });
}
