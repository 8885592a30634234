// Tries mutants on the tests of their core. Nothing is written into the tree, so that several runs can go on at a time.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Core } from './cores.ts';
import type { Mutant } from './mutants.ts';

export interface Trial {
  readonly mutant: Mutant;
  readonly isKilled: boolean;
}

const ROOT = new URL('../../', import.meta.url).pathname;
const HOOK = new URL('./mutant-hook.mjs', import.meta.url).href;
/** A mutant may keep a test from ending. It is killed then. */
const LIMIT_MS = 120_000;

export interface TryOptions {
  readonly core: Core;
  readonly mutants: readonly Mutant[];
  /** Mutants that are tried at a time. */
  readonly jobs: number;
  /** No further mutant is begun after this; performance.now(). */
  readonly deadline: number;
  report(trial: Trial): void;
}

/** Tries mutants until the deadline. Throws if the tests fail without a mutant. */
export async function tryMutants({ core, mutants, jobs, deadline, report }: TryOptions): Promise<void> {
  const cache = mkdtempSync(join(tmpdir(), 'capstan-mutants-'));
  try {
    for (const test of core.tests)
      if (!(await passes(test, undefined, cache))) throw new Error(`${test} fails without a mutant`);
    const left = [...mutants];
    const work = async () => {
      for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
        if (performance.now() > deadline) return;
        report({ mutant, isKilled: await isKilled(mutant, core, cache) });
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

async function isKilled(mutant: Mutant, { tests }: Core, cache: string): Promise<boolean> {
  // The file of the same name comes first.
  const own = basename(mutant.file).replace(/\.ts$/, '.test.ts');
  const ordered = tests.toSorted((a, b) => Number(basename(b) === own) - Number(basename(a) === own));
  for (const test of ordered) if (!(await passes(test, mutant, cache))) return true;
  return false;
}

function passes(test: string, mutant: Mutant | undefined, cache: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const hook = mutant === undefined ? [] : ['--import', HOOK];
    const child = spawn(process.execPath, [...hook, '--test-force-exit', '--test-reporter=dot', test], {
      cwd: ROOT,
      stdio: 'ignore',
      env: {
        ...env,
        CAPSTAN_TEST_SERVER: 'embedded',
        NODE_COMPILE_CACHE: cache,
        ...(mutant && { CAPSTAN_MUTANT: JSON.stringify({ ...mutant, file: join(ROOT, mutant.file) }) }),
      },
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}
