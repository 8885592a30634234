// The single executable, as a user has it: alone in an empty folder, with nothing on the PATH.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { buildProgramPackage } from '../build/program-package.ts';
import { addResource } from './add-resource.ts';
import { buildExecutable } from './build-executable.ts';

const run = promisify(execFile);
const root = dirname(dirname(import.meta.dirname));
const skip =
  process.platform === 'linux' && process.arch === 'x64' ? false : 'needs Linux on x64, for which the executable is';

describe('the single executable', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-executable-test-'));
  const home = join(folder, 'home');
  const program = join(folder, 'capstan');
  const bundle = join(folder, 'bundle');
  const env = { HOME: home, PATH: '' };
  before(async () => {
    mkdirSync(home);
    await buildProgramPackage(root, bundle);
    buildExecutable({ root, bundle, architecture: 'amd64', to: program });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const printed = async (...args: string[]) => run(program, args, { env, cwd: home });

  test('runs without Node.js on the PATH, and names commands by its own path', async () => {
    assert.match((await printed('version')).stdout, /^capstan \d+\.\d+\.\d+ \(Node\.js 26\./);
    const { stdout, stderr } = await printed('--help');
    assert.ok(stdout.includes(`\n  ${program} up --demo`));
    assert.equal(stderr, '');
  });

  test('is every program, by the name that it is called by', async () => {
    symlinkSync(program, join(folder, 'gimbal'));
    assert.match((await run(join(folder, 'gimbal'), ['--help'], { env })).stdout, /^Usage: .*gimbal /m);
  });

  test('unpacks again what is damaged in the cache', async () => {
    await printed('version');
    const [programs = ''] = readdirSync(join(home, '.cache/capstan'));
    const file = join(home, '.cache/capstan', programs, 'launcher.js');
    truncateSync(file, 10);
    assert.match((await printed('version')).stdout, /^capstan /);
    assert.deepEqual(readFileSync(file), readFileSync(join(bundle, 'launcher.js')));
  });

  test('is the same file when it is built again', () => {
    const again = join(folder, 'again');
    buildExecutable({ root, bundle, architecture: 'amd64', to: again });
    execFileSync('cmp', [program, again]);
  });

  test('starts a cluster with pods that are processes of its own, and reports on it', {
    timeout: 120_000,
  }, async () => {
    const up = spawn(
      program,
      ['up', '--demo', '--operators', 'gimbal', '--listen', ':0', '-o', 'json', '--log-level', 'error'],
      {
        env,
        cwd: home,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    try {
      await line(up, ({ event }) => event === 'ready');
      const status = spawn(program, ['status', '--watch', '-o', 'json', '--operators', 'gimbal'], {
        env: { ...env, KUBECONFIG: join(home, '.capstan/kubeconfig') },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      // The discoverers are pods: this executable again, as another program.
      await line(status, ({ healthy }) => healthy === true);
      status.kill('SIGINT');
      await once(status, 'exit');
    } finally {
      up.kill('SIGTERM');
      if (up.exitCode === null) await once(up, 'exit');
    }
    assert.equal(up.exitCode, 0);
  });
});

test('a file that is no program is refused', () => {
  assert.throws(
    () => addResource(Buffer.from('#!/bin/sh\n'), 'NAME', Buffer.alloc(4)),
    /not a 64-bit little-endian ELF/,
  );
});

/** Reads until a line matches. */
async function line(
  { stdout }: ChildProcess,
  isIt: (value: { event?: string; healthy?: boolean }) => boolean,
): Promise<void> {
  assert.ok(stdout);
  for await (const text of createInterface({ input: stdout }))
    if (isIt(JSON.parse(text) as { event?: string; healthy?: boolean })) return;
  assert.fail('it ended before');
}
