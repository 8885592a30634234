// A whole start as a user watches it: from the command to the ready screen there is never a silence of more than two seconds, and none
// from Ctrl-C to the end. Another thread writes the lines of the start, so this also holds while modules are loaded or a large collection
// runs.
//
// A busy machine must not fail the test. An empty program that starts at the same moment shows how long Node.js itself takes here before
// any line could be written, and a timer of this process shows how late a thread runs that is mostly asleep.
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LONGEST_SILENCE_MS = 2000;
const folder = mkdtempSync(join(tmpdir(), 'capstan-silence-'));
after(() => rmSync(folder, { recursive: true, force: true }));

for (const time of ['first', 'second'])
  test(`the ${time} start with the demonstration, and its stop, are never silent for more than two seconds`, {
    timeout: 180_000,
  }, async () => {
    const { gaps, printed, lateMs, emptyStartMs } = await start();
    assert.match(printed, /^Loading the operators \.\.\./);
    assert.match(printed, /Capstan is ready\./);
    const [first = Number.POSITIVE_INFINITY, ...later] = gaps;
    assert.ok(
      first < LONGEST_SILENCE_MS + emptyStartMs,
      `${first} ms until the first line (an empty program took ${emptyStartMs} ms):\n${printed}`,
    );
    const longest = Math.max(...later);
    assert.ok(
      longest < LONGEST_SILENCE_MS + lateMs,
      `${longest} ms without a line (this process was ${lateMs} ms late):\n${printed}`,
    );
  });

interface Start {
  /** Milliseconds before each output, the first since the command. */
  gaps: number[];
  printed: string;
  lateMs: number;
  emptyStartMs: number;
}

async function start(): Promise<Start> {
  const began = performance.now();
  let [last, tick, lateMs] = [began, began, 0];
  const timer = setInterval(() => {
    lateMs = Math.max(lateMs, performance.now() - tick - 50);
    tick = performance.now();
  }, 50);
  const emptyFile = join(folder, 'empty.ts');
  writeFileSync(emptyFile, '');
  const emptyStart = once(run(emptyFile), 'exit').then(() => performance.now() - began);
  const args = ['up', '--demo', '--fetch', 'none', '--data', join(folder, 'data'), '--listen', ':0'];
  const up = run('apps/capstan/src/main.ts', ...args);
  const gaps: number[] = [];
  let printed = '';
  try {
    await new Promise<void>((resolve) => {
      const hear = (chunk: Buffer) => {
        gaps.push(Math.round(performance.now() - last));
        last = performance.now();
        printed += chunk.toString();
        if (printed.includes('Capstan is ready.')) resolve();
      };
      up.stdout.on('data', hear);
      up.stderr.on('data', hear);
      up.once('exit', () => resolve());
    });
  } finally {
    if (up.exitCode === null) {
      const ended = once(up, 'exit');
      last = performance.now();
      up.kill('SIGTERM');
      await ended;
    }
    clearInterval(timer);
  }
  return { gaps, printed, lateMs: Math.round(lateMs), emptyStartMs: Math.round(await emptyStart) };
}

function run(...program: string[]): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, ['scripts/run.mjs', ...program], {
    cwd: ROOT,
    env: { ...process.env, CAPSTAN_REAL: join(folder, 'none') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
