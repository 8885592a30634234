import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate } from './simulate.ts';

// `SIMULATION_SEED=123 npm test -- packages/testing/src/simulation/simulation.test.ts` replays one history.
const replay = process.env['SIMULATION_SEED'];
const count = Number(process.env['SIMULATIONS'] ?? 2000);
const seeds = replay === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(replay)];

test(`${seeds.length} histories with faults and crashes end in the state that is reached without them`, async () => {
  let crashes = 0;
  for (const seed of seeds) {
    const report = await simulate({ seed });
    crashes += report.crashes;
    const story = `moves:\n  ${report.moves.join('\n  ')}\nfaults:\n${report.faults}`;
    assert.deepEqual(
      report.problems,
      [],
      `seed ${seed}: ${report.problems.join('\n')}\n${story}\nreplay: SIMULATION_SEED=${seed} npm test -- packages/testing/src/simulation/simulation.test.ts`,
    );
  }
  if (replay === undefined)
    assert.ok(crashes > seeds.length / 4, `only ${crashes} crashes: the schedules have become too tame`);
});
