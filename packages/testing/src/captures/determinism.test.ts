import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryLine } from '@capstan/reconcile';
import { runs } from '../runs.ts';
import { simulate } from '../simulation/simulate.ts';
import { type RecordedLife, recordLives } from './record-lives.ts';

/** `REPLAYS=1000 npm test -- packages/testing/src/captures/determinism.test.ts` replays more, from the seed `REPLAY_SEED` on. */
const COUNT = runs(6, 300, 'REPLAYS');
const FIRST = Number(process.env['REPLAY_SEED'] ?? 1);

for (const secrets of ['replaced', 'encrypted'] as const)
  test(`${COUNT / 2} histories with faults and crashes replay with the same results, with secrets ${secrets}`, async (t) => {
    let compared = 0;
    for (let seed = FIRST + (secrets === 'replaced' ? 0 : 1); seed < FIRST + COUNT; seed += 2) {
      const lives = recordLives(secrets);
      await simulate({ seed, record: lives.record });
      for (const [index, life] of lives.histories().entries()) {
        const report = lives.replay(life);
        assert.deepEqual(report.differences, [], `seed ${seed}, life ${index}`);
        assert.deepEqual(report.unknownTables, []);
        if (secrets === 'encrypted') assert.equal(report.notRun, 0);
        compared += report.compared;
      }
    }
    assert.ok(compared > COUNT * 5, `${compared} results were compared`);
    t.diagnostic(`${compared} results are equal`);
  });

test('a replay that begins with a snapshot has the same results', async () => {
  let compared = 0;
  for (let seed = FIRST; seed < FIRST + COUNT / 2; seed++) {
    const lives = recordLives(seed % 2 === 0 ? 'replaced' : 'encrypted', { snapshotAfter: 8 });
    await simulate({ seed, record: lives.record });
    for (const life of lives.histories().filter(({ lines }) => lines.some((line) => 'snapshot' in line))) {
      const report = lives.replay(life);
      assert.deepEqual(report.differences, [], `seed ${seed}`);
      compared += report.compared;
    }
  }
  assert.ok(compared > 10, `${compared} results were compared`);
});

test('a replay in which one input is another one names the wave and the results that differ', async () => {
  const lives = recordLives('encrypted');
  await simulate({ seed: 3, record: lives.record });
  const life = lives.histories().find(({ lines }) => lines.some(isSiteInput));
  assert.ok(life);
  let at: number | undefined;
  const lines = life.lines.map((line): HistoryLine => {
    if (at !== undefined || !isSiteInput(line) || !('inputs' in line)) return line;
    at = line.wave;
    return JSON.parse(JSON.stringify(line).replace(/"image":"[^"]*"/, '"image":"another"')) as HistoryLine;
  });
  const changed: RecordedLife = { ...life, lines };
  const { differing, differences } = lives.replay(changed);
  assert.ok(differing > 0);
  const [first] = differences;
  assert.ok(first !== undefined && at !== undefined && first.wave >= at);
  assert.equal(first.how, 'changed');
  assert.ok(first.reads.length > 0, 'the reads of the function are named');
  assert.ok(
    first.moved.some((read) => /^Site\.\S+ → site-hash/.test(read)),
    `the read that differs is named: ${first.moved.join(', ')}`,
  );
});

function isSiteInput(line: HistoryLine): boolean {
  return (
    'inputs' in line &&
    JSON.stringify(line.inputs).includes('"kind":"Site"') &&
    JSON.stringify(line).includes('"image":"')
  );
}
