// The script that starts every program of a checkout, where dependencies are missing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './workspace-files.ts';

const WATCHED_MS = 8_000;
const LONGEST_GAP_MS = 2_000;

test('a registry that does not answer is never waited for in silence', { timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-run-'));
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    silent.close();
    silent.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  });
  mkdirSync(join(folder, 'scripts'));
  copyFileSync(join(root, 'scripts/run.mjs'), join(folder, 'scripts/run.mjs'));
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(root, file), join(folder, file));
  const { port } = silent.address() as AddressInfo;
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}`,
    npm_config_cache: join(folder, 'cache'),
  };
  const child = spawn(process.execPath, ['scripts/run.mjs', 'none.ts'], { cwd: folder, env, detached: true });
  const began = performance.now();
  let [tick, lateMs] = [performance.now(), 0];
  const timer = setInterval(() => {
    lateMs = Math.max(lateMs, performance.now() - tick - 50);
    tick = performance.now();
  }, 50);
  const times = [began];
  child.stderr.on('data', () => times.push(performance.now()));
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
  clearInterval(timer);
  // The whole group, which this test started: npm is a child of the script.
  process.kill(-(child.pid ?? 0), 'SIGKILL');
  times.push(performance.now());
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  assert.ok(times.length > 4, `${times.length - 2} lines in ${WATCHED_MS} ms`);
  assert.ok(Math.max(...gaps) < LONGEST_GAP_MS + lateMs, gaps.map((ms) => ms.toFixed(0)).join(', '));
});
