import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('./heartbeat.ts', import.meta.url).href;

test('a script whose thread is blocked is never silent for long', { timeout: 30_000 }, async () => {
  const program = `
    import { startHeartbeat } from '${MODULE}';
    const { report, stop } = startHeartbeat();
    report('Packing ...');
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const end = Date.now() + 6000; Date.now() < end; );
    await stop();`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [tick, lateMs] = [performance.now(), 0];
  const timer = setInterval(() => {
    lateMs = Math.max(lateMs, performance.now() - tick - 50);
    tick = performance.now();
  }, 50);
  const times: number[] = [];
  const hear = () => void times.push(performance.now());
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  await new Promise((resolve) => child.once('exit', resolve));
  hear();
  clearInterval(timer);
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  assert.ok(times.length >= 4 && Math.max(...gaps) < 2000 + lateMs, gaps.map((ms) => ms.toFixed(0)).join(', '));
});
