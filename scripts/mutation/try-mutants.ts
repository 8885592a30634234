// Tries mutants on the tests of their core, in a thread that loads both once. Nothing is written into the tree, so that several runs can go on at a
// time.
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Core } from './cores.ts';
import { type Mutant, mutate } from './mutants.ts';
import { shuffled } from './random-faults.ts';

export interface Trials {
  /** Mutants in all files of the core. */
  readonly total: number;
  /** Mutants of code that runs as a module is loaded; they are not tried. */
  readonly atLoad: number;
  readonly tried: number;
  readonly survivors: readonly Mutant[];
  /** Mutants that were chosen and not tried in time. */
  readonly late: number;
}

export interface TryOptions {
  readonly core: Core;
  /** The number of mutants; the same ones for the same seed. */
  readonly sample: number;
  readonly seed: number;
  /** No further mutant is begun after this time, which begins when the tests are loaded. */
  readonly limitMs: number;
}

const ROOT = new URL('../../', import.meta.url).pathname;
/** A mutant may keep a test from ending. It is killed then. */
const LIMIT_MS = 60_000;
const LOAD_LIMIT_MS = 600_000;

/** Tries mutants until the time is over. Throws if a test fails without a mutant. */
export async function tryMutants({ core, sample, seed, limitMs }: TryOptions): Promise<Trials> {
  const files = mutate(core.files);
  const mutants = files.flatMap((file) => file.mutants);
  const numbered = new Map(files.flatMap(({ first, mutants }) => mutants.map((each, index) => [first + index, each])));
  const workerData = {
    files: files.map(({ file, text }) => ({ path: join(ROOT, file), text })),
    tests: core.tests.map((file) => join(ROOT, file)),
  };
  let thread = await startThread(workerData);
  const { atLoad, reached, failed } = thread.ready;
  const deadline = performance.now() + limitMs;
  try {
    if (failed.length > 0) throw new Error(`these tests of ${core.name} fail without a mutant: ${failed.join('; ')}`);
    const [fixed, seen] = [new Set(atLoad), new Set(reached)];
    const possible = [...numbered.keys()].filter((number) => !fixed.has(number));
    // In random order: the mutants that are not tried in time are then of all files.
    const chosen = shuffled(possible, seed).slice(0, sample);
    const survivors: Mutant[] = [];
    let tried = 0;
    for (const number of chosen) {
      if (performance.now() > deadline) break;
      tried++;
      const survives = () => survivors.push(...[numbered.get(number)].filter((mutant) => mutant !== undefined));
      if (!seen.has(number)) {
        // No test runs this code.
        survives();
        continue;
      }
      const outcome = await thread.trial(number);
      if (outcome === 'survived') survives();
      if (outcome === 'ended') {
        await thread.end();
        thread = await startThread(workerData);
      }
    }
    return { total: mutants.length, atLoad: fixed.size, tried, survivors, late: chosen.length - tried };
  } finally {
    await thread.end();
  }
}

interface Ready {
  readonly atLoad: readonly number[];
  readonly reached: readonly number[];
  readonly failed: readonly string[];
}

interface Thread {
  readonly ready: Ready;
  /** `ended`: the thread has broken, or goes on for ever. */
  trial(number: number): Promise<'killed' | 'survived' | 'ended'>;
  end(): Promise<unknown>;
}

interface Message {
  readonly ready?: Ready;
  readonly done?: { readonly number: number; readonly isKilled: boolean };
}

async function startThread(workerData: object): Promise<Thread> {
  const worker = new Worker(new URL('./trial-worker.mjs', import.meta.url), {
    workerData,
    stdout: true,
    stderr: true,
    env: { ...process.env, CAPSTAN_TEST_SERVER: 'embedded' },
  });
  // An error that no test catches ends the thread. It must not end this one.
  worker.on('error', (error) => worker.emit('broken', error));
  const next = async (limitMs: number): Promise<Message | undefined> => {
    // Ends the listeners that did not hear anything.
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(limitMs)]);
    const heard = ['message', 'broken', 'exit'].map(async (event) => {
      const [first] = (await once(worker, event, { signal })) as [Message];
      return event === 'message' ? first : undefined;
    });
    for (const each of heard) each.catch(() => undefined);
    try {
      return await Promise.race(heard);
    } catch {
      return undefined;
    } finally {
      over.abort();
    }
  };
  for (;;) {
    const message = await next(LOAD_LIMIT_MS);
    if (message === undefined) throw new Error('the tests did not run without a mutant');
    if (message.ready === undefined) continue;
    return {
      ready: message.ready,
      async trial(number) {
        const answer = next(LIMIT_MS);
        worker.postMessage({ number }, []);
        const done = (await answer)?.done;
        return done === undefined ? 'ended' : done.isKilled ? 'killed' : 'survived';
      },
      end: () => worker.terminate(),
    };
  }
}
