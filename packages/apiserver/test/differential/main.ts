// By hand: node packages/apiserver/test/differential/main.ts --from 1 --count 100 [--class TEXT]
// Runs generated sequences on both servers and prints the classes of differences, the most frequent first.
//   --only KIND                            sequences about this kind alone
//   --keep NAME --title TEXT --from SEED   shrinks that sequence and keeps it
//   --record                               records the real server's answers to the kept sequences again
import { parseArgs } from 'node:util';
import { classOf, type Difference, differencesOf } from './compare.ts';
import { generateSequence } from './generate.ts';
import { keep, keptSequences } from './kept.ts';
import { startPair } from './pair.ts';
import { runSequence } from './run.ts';
import type { Answer, Sequence } from './sequence.ts';
import { shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '50' },
    class: { type: 'string' },
    keep: { type: 'string' },
    title: { type: 'string', default: '' },
    record: { type: 'boolean' },
    all: { type: 'boolean' },
    examples: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '6' },
    only: { type: 'string', default: '' },
  },
});
const from = Number(values.from);
// An interrupt ends the range early, and the differences so far are printed.
process.once('SIGINT', () => seeds.splice(0));
const seeds = Array.from({ length: Number(values.count) }, (_, index) => from + index);
const pair = await startPair({ withReal: true });
const classes = new Map<string, { seed: number; difference: Difference }[]>();
let differing = 0;
let ran = 0;
try {
  if (values.record) await record();
  else if (values.keep !== undefined) await keepOne(values.keep);
  else {
    const began = Date.now();
    await Promise.all(Array.from({ length: Number(values.parallel) }, work));
    console.log(`${ran} sequences in ${((Date.now() - began) / 1000).toFixed(1)} s, ${differing} differ`);
  }
} finally {
  await pair.close();
}
const found = [...classes]
  .filter(([name]) => name.includes(values.class ?? ''))
  .toSorted((a, b) => b[1].length - a[1].length);
for (const [name, examples] of found) {
  console.log(`\n${examples.length} × ${name}`);
  for (const { seed, difference } of examples.slice(0, Number(values.examples))) {
    const { request, real, embedded } = difference;
    const { id, ...asked } = request;
    console.log(`  seed ${seed} #${id}  ${clip(asked, 700)}`);
    console.log(`  real      ${clip(real, 900)}`);
    console.log(`  embedded  ${clip(embedded, 900)}`);
  }
}

async function bothOn(sequence: Sequence): Promise<[real: Answer[], embedded: Answer[]]> {
  if (pair.real === undefined) throw new Error('there is no real server');
  const [real, embedded] = await runSequence(sequence, [pair.real, pair.embedded], { patienceMs: 40_000 });
  return [real?.answers ?? [], embedded?.answers ?? []];
}

async function record(): Promise<void> {
  for (const [name, kept] of keptSequences()) {
    const sequence = { name: `kept-${name}`, requests: kept.requests };
    const [real, embedded] = await bothOn(sequence);
    keep(name, { ...kept, answers: real });
    const differences = differencesOf(sequence, real, embedded);
    console.log(`${name}: ${differences.length === 0 ? 'alike' : 'DIFFERENT'}`);
    for (const { request, path, real: said, embedded: told } of differences) {
      console.log(`  #${request.id} ${path}\n  real      ${clip(said, 600)}\n  embedded  ${clip(told, 600)}`);
    }
  }
}

async function keepOne(name: string): Promise<void> {
  const differs = async (sequence: Sequence) => {
    const [real, embedded] = await bothOn(sequence);
    return differencesOf(sequence, real, embedded).length > 0;
  };
  const { requests } = await shrink(generateSequence(from, { only: values.only }), differs);
  const [answers] = await bothOn({ name: `kept-${name}`, requests });
  keep(name, { title: values.title, requests, answers });
  console.log(`${requests.length} requests kept as ${name}`);
}

async function work(): Promise<void> {
  for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
    const sequence = generateSequence(seed, { only: values.only });
    if (pair.real === undefined) throw new Error('there is no real server');
    try {
      const [real, embedded] = await runSequence(sequence, [pair.real, pair.embedded]);
      const differences = differencesOf(sequence, real?.answers ?? [], embedded?.answers ?? []);
      ran++;
      if (differences.length > 0) differing++;
      const [first] = differences;
      // The effects of the first difference are not further ones.
      for (const difference of values.all
        ? differences
        : first
          ? differences.filter(({ request }) => request === first.request)
          : []) {
        const name = classOf(difference);
        classes.set(name, [...(classes.get(name) ?? []), { seed, difference }]);
      }
    } catch (error) {
      console.log(`seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
}

function clip(value: unknown, length: number): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
