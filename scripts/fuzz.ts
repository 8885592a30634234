// Hands changed and drawn inputs to the parsers of outside bytes. `npm run fuzz -- --list` names them; `npm run fuzz -- TARGET… --seconds 60`
// runs some, `all` every one. A defect ends the run of its target: the input is saved, and the command to read it again is printed. --seed N
// draws other inputs; --keep adds inputs that reached new code to the corpus in scripts/fuzz/corpus; --input FILE reads one file.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { CURRENT_BYTES, counterIn, inputIn, type WorkerReply, type WorkerTask } from './fuzz/fuzz-worker.ts';
import { addToCorpus, type FoundTarget, findTargets } from './fuzz/targets.ts';

/** An input that takes longer never ends. It is far beyond the limit of each input, because other programs use the machine. */
const HANG_MS = 30_000;
const LOOK_MS = 500;
/** A parser with larger values in a worker thread, a stack as small as that of the main thread. */
const LIMITS = { maxOldGenerationSizeMb: 1024, stackSizeMb: 1 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string' },
    input: { type: 'string' },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const found = await findTargets();
const names = found.map(({ target }) => target.name);
const wanted = positionals.includes('all') ? names : positionals;
const unknown = wanted.filter((name) => !names.includes(name));
if (values.list || wanted.length === 0) {
  console.log(
    `usage: npm run fuzz -- TARGET… [--seconds N] [--seed N] [--keep] [--input FILE]; all for every target\n${names.join('\n')}`,
  );
} else if (unknown.length > 0) {
  console.error(`there is no target ${unknown.join(', ')}; npm run -s fuzz -- --list names them`);
  process.exitCode = 2;
} else {
  const seed = Number(values.seed ?? Math.floor(Date.now() / 1000));
  for (const one of found.filter(({ target }) => wanted.includes(target.name))) {
    if (!(await fuzz(one, seed))) process.exitCode = 1;
  }
}

/** Whether no defect was found. */
async function fuzz({ target, file }: FoundTarget, seed: number): Promise<boolean> {
  const current = new SharedArrayBuffer(CURRENT_BYTES);
  const only = values.input === undefined ? undefined : new Uint8Array(readFileSync(values.input));
  const ms = Number(values.seconds) * 1000;
  const task: WorkerTask = { file, name: target.name, seed, ms, isGuided: true, current, ...(only && { only }) };
  const reply = await outcomeOf(task);
  if (typeof reply === 'string' || reply.finding) {
    const { input, problem } =
      typeof reply === 'string'
        ? { input: inputIn(current), problem: reply }
        : (reply.finding ?? { input: Buffer.alloc(0), problem: '' });
    const saved = save(target.name, Buffer.from(input));
    console.log(`${target.name}: defect (seed ${seed}): ${problem}\n  npm run fuzz -- ${target.name} --input ${saved}`);
    return false;
  }
  const { inputs, refused, discovered, slowest } = reply;
  const kept = values.keep
    ? `, ${addToCorpus(
        target.name,
        discovered.map((one) => Buffer.from(one)),
      )} added to the corpus`
    : '';
  const percent = inputs === 0 ? 0 : Math.round((100 * refused) / inputs);
  console.log(
    `${target.name}: ${inputs} inputs, ${percent} % refused, ${discovered.length} reached new code${kept}; slowest ${Math.round(slowest.ms)} ms for ${slowest.bytes} bytes`,
  );
  return true;
}

/** The report, or a sentence about the end of the thread. */
function outcomeOf(task: WorkerTask): Promise<WorkerReply | string> {
  const worker = new Worker(new URL('fuzz/fuzz-worker.ts', import.meta.url), {
    workerData: task,
    resourceLimits: LIMITS,
  });
  return new Promise((resolve) => {
    let last = -1;
    let since = Date.now();
    const timer = setInterval(() => {
      const count = counterIn(task.current);
      if (count !== last || count === 0) since = Date.now();
      last = count;
      if (Date.now() - since < HANG_MS) return;
      end(`an input was not read after ${HANG_MS / 1000} s`);
      void worker.terminate();
    }, LOOK_MS);
    const end = (outcome: WorkerReply | string) => {
      clearInterval(timer);
      resolve(outcome);
    };
    worker.on('message', (reply: WorkerReply) => end(reply));
    worker.on('error', (error: Error) => end(`the thread ended: ${error.stack ?? error.message}`));
    worker.on('exit', (code) => end(`the thread ended with code ${code}`));
  });
}

function save(name: string, input: Buffer): string {
  const folder = join(tmpdir(), 'capstan-fuzz');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`);
  writeFileSync(file, input);
  return file;
}
