import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, kindId } from '@capstan/kube';
import { createRandom } from '../../random.ts';
import { runs } from '../../runs.ts';
import { simulateWorlds, type WorldsSubject } from './simulate-worlds.ts';
import { Notice, Policy, spreadingOperator } from './spreading-operator.ts';
import { createSpreadingScript, unservedOf, WORLDS } from './spreading-script.ts';

const COUNT = runs(30, 1000, 'SIMULATIONS');
/** `SIMULATION_SEED=123 npm test -- packages/testing/src/simulation/several-worlds/several-worlds.test.ts` replays one history. */
const REPLAY = process.env['SIMULATION_SEED'];

const subjectOf = (seed: number): WorldsSubject => ({
  operators: [spreadingOperator],
  worlds: WORLDS,
  kinds: (world) => (world === '' ? [Policy, ConfigMap] : [Notice, ConfigMap]),
  script: createSpreadingScript,
  unserved: (states) =>
    unservedOf(
      createSpreadingScript(createRandom(seed).fork('script')),
      (world, kind, name) => states.get(world)?.has(`${kindId(kind)} default/${name}`) === true,
    ),
});

test(`${COUNT} histories over four clusters that come and go end in the state that is reached without faults`, async () => {
  const seeds = REPLAY === undefined ? Array.from({ length: COUNT }, (_, index) => index + 1) : [Number(REPLAY)];
  const total = { crashes: 0, absences: 0, lostLeases: 0 };
  for (const seed of seeds) {
    const report = await simulateWorlds(subjectOf(seed), seed);
    for (const name of ['crashes', 'absences', 'lostLeases'] as const) total[name] += report[name];
    const { problems, story, faults } = report;
    const command = `SIMULATION_SEED=${seed} npm test -- packages/testing/src/simulation/several-worlds/several-worlds.test.ts`;
    const what = `moves:\n  ${story.join('\n  ')}\nfaults:\n${faults}`;
    assert.deepEqual(problems, [], `seed ${seed}: ${problems.join('\n')}\n${what}\nreplay: ${command}`);
  }
  if (REPLAY !== undefined) return;
  for (const [what, count] of Object.entries(total))
    assert.ok(
      count > seeds.length / 4,
      `only ${count} ${what} in ${seeds.length} histories: the histories are too tame`,
    );
});
