import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { identityOf, isAlive } from './identity.ts';
import { launch } from './launch.ts';
import { endOrphans, RECORD_FILE } from './orphans.ts';

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-orphans-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

const WAITING = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];

test('a process that was written down is found and ended, and forgotten', async (t) => {
  const folder = await folderFor(t);
  const recordFile = join(folder, 'uid', 'containers', 'main', RECORD_FILE);
  const child = await launch({ argv: WAITING, env: {}, cwd: folder, recordFile });
  const identity = await identityOf(child.pid);
  assert.ok(identity);
  assert.equal(await endOrphans(folder, systemClock, silentLogger), 1);
  assert.equal(await isAlive(identity), false);
  assert.equal((await child.exited).signal, 'SIGTERM');
  await assert.rejects(access(recordFile));
});

test('a process that only has the number of an earlier one is left alone', async (t) => {
  const folder = await folderFor(t);
  const child = await launch({ argv: WAITING, env: {}, cwd: folder });
  const identity = await identityOf(child.pid);
  assert.ok(identity);
  const place = join(folder, 'uid');
  await mkdir(place);
  await writeFile(join(place, RECORD_FILE), JSON.stringify({ pid: child.pid, startedAt: 'another time' }));
  assert.equal(await endOrphans(folder, systemClock, silentLogger), 0);
  assert.equal(await isAlive(identity), true);
  child.kill('SIGKILL');
  await child.exited;
});

test('invalid records end no process', async (t) => {
  const folder = await folderFor(t);
  await writeFile(join(folder, RECORD_FILE), '{"pid": "x"');
  assert.equal(await endOrphans(folder, systemClock, silentLogger), 0);
  assert.equal(await endOrphans(join(folder, 'nowhere'), systemClock, silentLogger), 0);
});

test('the children of a program end with it', async (t) => {
  const folder = await folderFor(t);
  const file = join(folder, 'pid');
  const script = `
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(child.pid));
    process.exit(0);`;
  const { exited } = await launch({ argv: [process.execPath, '-e', script], env: {}, cwd: folder });
  assert.deepEqual(await exited, { code: 0 });
  const pid = Number(await readFile(file, 'utf8'));
  for (const began = Date.now(); Date.now() - began < 5000 && (await identityOf(pid)) !== undefined; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(await identityOf(pid), undefined);
});

test('a program that cannot be started is reported as such', async (t) => {
  const folder = await folderFor(t);
  await assert.rejects(launch({ argv: ['/nowhere/program'], env: {}, cwd: folder }), /ENOENT/);
});

test('processes end with the process that started them, also when it ends out of order', async (t) => {
  const folder = await folderFor(t);
  const script = `
    import { launch } from ${JSON.stringify(new URL('launch.ts', import.meta.url).href)};
    const { pid } = await launch({ argv: ${JSON.stringify(WAITING)}, env: {}, cwd: ${JSON.stringify(folder)} });
    console.log(pid);
    process.exit(1);`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const pid = Number(stdout);
  assert.ok(pid > 1, stdout);
  for (const began = Date.now(); Date.now() - began < 5000 && (await identityOf(pid)) !== undefined; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(await identityOf(pid), undefined);
});
