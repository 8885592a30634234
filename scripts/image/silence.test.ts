// `npm run image` as a user watches it. Packing and compressing block the thread of the script for many seconds.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = new URL('../../', import.meta.url).pathname;
const LONGEST_SILENCE_MS = 2000;
const isMissing = (program: string) => spawnSync(program, ['--version']).error !== undefined;
const skip = ['dpkg-deb', 'xz'].some(isMissing) && 'dpkg-deb and xz are needed: they unpack packages of Debian';

test('npm run image is never silent for more than two seconds', { skip, timeout: 300_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-image-silence-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // A busy machine must not fail the test: this process is asleep, and its timer shows how late a thread runs here.
  let [tick, lateMs] = [performance.now(), 0];
  const timer = setInterval(() => {
    lateMs = Math.max(lateMs, performance.now() - tick - 50);
    tick = performance.now();
  }, 50);
  const args = ['--disable-warning=ExperimentalWarning', 'scripts/image.ts', '--arch', 'amd64', '--out', folder];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const times: number[] = [];
  let printed = '';
  const hear = (chunk: Buffer) => {
    times.push(performance.now());
    printed += chunk.toString();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(timer);
  assert.equal(code, 0, printed);
  assert.match(printed, /Building the images/);
  const gaps = times.slice(1).map((at, index) => Math.round(at - (times[index] ?? at)));
  const longest = Math.max(...gaps);
  assert.ok(longest < LONGEST_SILENCE_MS + lateMs, `${longest} ms without a line (late by ${lateMs} ms):\n${printed}`);
});
