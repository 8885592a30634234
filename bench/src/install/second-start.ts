// `npm start` for the second time: the data folder and the demonstration are there, and the user waits for the ready screen.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { ROOT } from './built.ts';

const ROUNDS = { full: 3, tiny: 1 };

export const secondStart: Part = {
  name: 'second-start',
  summary: 'npm start for the second time, until its first line and until it is ready',
  async measure(scale) {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-bench-start-'));
    try {
      await start(folder, scale);
      const rounds = [];
      for (let round = 0; round < ROUNDS[scale]; round++) rounds.push(await start(folder, scale));
      const [lines, ready] = [rounds.map(({ line }) => line), rounds.map((one) => one.ready)];
      return [
        result({ name: 'first line of npm start', unit: 's', rounds: lines, below: 1 }),
        result({ name: 'second npm start until it is ready', unit: 's', rounds: ready, below: 5 }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Seconds until the first line and until the ready screen. */
async function start(folder: string, scale: keyof typeof ROUNDS): Promise<{ line: number; ready: number }> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const demo = scale === 'full' ? ['--demo', '--fetch', 'none'] : ['--operators', 'gimbal'];
  const args = ['scripts/run.mjs', 'apps/capstan/src/main.ts', 'up', ...demo, '--data', join(folder, 'data')];
  const up = spawn(process.execPath, [...args, '--listen', ':0'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let line: number | undefined;
  up.stderr.on('data', () => (line ??= seconds()));
  const ended = once(up, 'exit');
  for await (const text of up.stdout.setEncoding('utf8')) if (String(text).includes('Capstan is ready.')) break;
  const ready = seconds();
  up.kill('SIGTERM');
  await ended;
  return { line: line ?? ready, ready };
}
