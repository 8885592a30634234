// The embedded server beside a real one: the same requests, the same answers. Kept sequences are replayed on every machine, against the
// recorded answers of the real server. Where there is a real server, it is compared again, and 500 generated sequences of twenty requests
// go to both. CAPSTAN_SEQUENCES sets another number, CAPSTAN_SEED another beginning.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { runs } from '@capstan/testing';
import { classOf, type Difference, differencesOf } from './compare.ts';
import { generateSequence } from './generate.ts';
import { keptSequences } from './kept.ts';
import { type Pair, startPair, whyNoReal } from './pair.ts';
import { runSequence } from './run.ts';
import type { Sequence } from './sequence.ts';
import { shrink } from './shrink.ts';

const COUNT = runs(60, 2000, 'CAPSTAN_SEQUENCES');
const FIRST = Number(process.env['CAPSTAN_SEED'] ?? 1);
const PARALLEL = 6;
const noReal = whyNoReal();

describe('the embedded server beside a real one', { timeout: 900_000 }, () => {
  let pair: Pair;
  before(async () => {
    pair = await startPair({ withReal: noReal === false });
  });
  after(() => pair.close());

  for (const [name, { title, requests, answers }] of keptSequences()) {
    test(`answers alike: ${title}`, async () => {
      const sequence = { name: `kept-${name}`, requests };
      const servers = pair.real ? [pair.embedded, pair.real] : [pair.embedded];
      const [embedded, real] = await runSequence(sequence, servers, { patienceMs: 40_000, known: answers });
      assert.deepEqual(linesOf(differencesOf(sequence, real?.answers ?? answers, embedded?.answers ?? [])), []);
    });
  }

  test(`answers alike to ${COUNT} generated sequences`, { skip: noReal }, async () => {
    const seeds = Array.from({ length: COUNT }, (_, index) => FIRST + index);
    const failures: string[] = [];
    const work = async () => {
      for (let seed = seeds.shift(); seed !== undefined && failures.length < 3; seed = seeds.shift()) {
        const sequence = generateSequence(seed);
        if ((await differences(sequence)).length > 0) failures.push(await explain(seed, sequence));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    assert.deepEqual(failures, [], failures.join('\n\n'));
  });

  async function differences(sequence: Sequence): Promise<Difference[]> {
    assert.ok(pair.real);
    const [real, embedded] = await runSequence(sequence, [pair.real, pair.embedded]);
    return differencesOf(sequence, real?.answers ?? [], embedded?.answers ?? []);
  }

  async function explain(seed: number, sequence: Sequence): Promise<string> {
    const shrunk = await shrink(sequence, async (candidate) => (await differences(candidate)).length > 0);
    const found = await differences({ ...shrunk, name: `${sequence.name}-last` });
    const lines = shrunk.requests.map((request) => JSON.stringify(request));
    return [`seed ${seed}:`, ...lines, ...linesOf(found).slice(0, 4)].join('\n');
  }
});

function linesOf(differences: readonly Difference[]): string[] {
  const text = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 1_000);
  return differences.map((one) => `${classOf(one)}\n  real:     ${text(one.real)}\n  embedded: ${text(one.embedded)}`);
}
