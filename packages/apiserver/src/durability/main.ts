// npm run durability -- [--rounds 1000] [--seed 1]: kills a server under load that many times and checks its data.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killRounds } from './kill-rounds.ts';
import { seededRandom } from './seeded-random.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } });
const rounds = Number(values.rounds ?? 1000);
const seed = Number(values.seed ?? 1);
const folder = await mkdtemp(join(tmpdir(), 'capstan-durability-'));
const started = performance.now();
const result = await killRounds({
  rounds,
  random: seededRandom(seed),
  folder,
  onRound(round, writes) {
    if (round % 50 === 0) console.log(`${round} kills, ${writes} acknowledged writes`);
  },
});
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(
  `seed ${seed}: ${result.rounds} kills (${result.early} while starting), ${result.writes} acknowledged writes, ${seconds} s`,
);
for (const problem of result.problems) console.error(problem);
if (result.problems.length > 0) console.error(`The files are in ${folder}.`);
else console.log('No acknowledged write was lost, no revision was used twice.');
process.exit(result.problems.length > 0 ? 1 : 0);
