// Plants faults in the code, one at a time, and runs the nearest tests: a fault that no test notices is a test that is missing.
// `npm run mutate` plants every fault of the catalogue, `-- --sample 12 --seed 3` a sample, `-- --only NAME` those whose name
// contains a text, `-- --random 10 --seed 3 FILE…` faults that simple operators make of these files. The work is done on a
// copy in a temporary folder: the tree is never touched, also when the run is killed. `npm run mutate -- cores` tries mutants of the pure
// cores (try-cores.ts).
import { parseArgs } from 'node:util';
import { FAULTS } from './mutation/faults.ts';
import { type Outcome, type PlantedFault, plantAll } from './mutation/plant.ts';
import { randomFaults, sampleOf } from './mutation/random-faults.ts';
import { CORES_USAGE, parseCores, tryCores } from './mutation/try-cores.ts';

if (process.argv[2] === 'cores') {
  const options = parseCores(process.argv.slice(3));
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n\n${CORES_USAGE}`);
    process.exit(2);
  }
  process.exit((await tryCores(options, (line) => console.log(line))) ? 0 : 1);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    random: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed);
const outcomes: Outcome[] = [];
const faults = chosen();
if (values.list) {
  for (const { name, file } of faults) console.log(`${name}: ${file}`);
} else {
  await plantAll(faults, (outcome) => {
    outcomes.push(outcome);
    const { fault, result, seconds } = outcome;
    console.log(`${result.padEnd(8)} ${fault.name} (${fault.file}, ${seconds.toFixed(1)} s)`);
  });
  const missed = outcomes.filter(({ result }) => result !== 'noticed');
  console.log(`${outcomes.length - missed.length} of ${outcomes.length} faults were noticed (seed ${seed})`);
  for (const { fault, result } of missed)
    console.log(`${result}: ${fault.name}\n  in ${fault.file}\n- ${fault.from}\n+ ${fault.to}`);
  // Random faults may change no behaviour: their survivors are for people to read.
  const most = values.random === undefined ? Math.floor(outcomes.length / 20) : outcomes.length;
  process.exitCode = missed.length > most || outcomes.some(({ result }) => result === 'unusable') ? 1 : 0;
}

function chosen(): readonly PlantedFault[] {
  if (values.random !== undefined) return randomFaults(positionals, Number(values.random), seed);
  const { only } = values;
  const named = only === undefined ? FAULTS : FAULTS.filter(({ name }) => name.includes(only));
  return values.sample === undefined ? named : sampleOf(named, Number(values.sample), seed);
}
