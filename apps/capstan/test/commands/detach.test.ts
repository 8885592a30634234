// The daily life of a cluster on a laptop, as processes: up in the background, down, up again, reset.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Client, ConfigMap, connect, createClient } from '@capstan/kube';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

function capstan(argv: readonly string[], env: NodeJS.ProcessEnv) {
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const args = ['--disable-warning=ExperimentalWarning', MAIN, ...argv];
    execFile(process.execPath, args, { env, encoding: 'utf8' }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    );
  });
}

async function clientOf(kubeconfig: string): Promise<Client> {
  return createClient({ transport: await connect({ env: {}, kubeconfig, homeDir: '/' }) });
}

test('a cluster runs in the background until it is stopped, keeps what it holds, and is deleted on request', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-detach-'));
  const data = join(folder, 'data');
  const kubeconfig = join(folder, 'config');
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
  t.after(async () => {
    await capstan(['down', '--data', data], env);
    await rm(folder, { recursive: true });
  });
  const up = ['up', '--detach', '--data', data, '--listen', ':0', '--operators', 'gimbal', '--merge-kubeconfig'];

  const first = await capstan(up, env);
  assert.equal(first.code, 0, first.err);
  assert.match(first.out, /^Capstan is ready\.\n/);
  assert.match(first.out, new RegExp(`The contexts capstan are in ${kubeconfig}; capstan is the current one\\.`));
  assert.match(first.out, new RegExp(`in the background \\(pid \\d+\\); its log is ${data}/up\\.log`));
  assert.doesNotMatch(first.out + first.err, /INFO|WARN/);
  const client = await clientOf(kubeconfig);
  const metadata = { namespace: 'default', name: 'kept' };
  await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await client.close();

  const second = await capstan(up, env);
  assert.equal(second.code, 1);
  assert.match(second.err, /^error: a cluster runs in \S+ already \(pid \d+\); stop it with capstan down/m);
  assert.match((await capstan(['reset', '--data', data, '--yes'], env)).err, /runs \(pid \d+\); stop it first/);

  const down = await capstan(['down', '--data', data], env);
  assert.deepEqual([down.code, down.err], [0, '']);
  assert.match(down.out, /is stopped; capstan up starts it again/);
  assert.match((await capstan(['down', '--data', data], env)).out, /^No cluster runs in /);

  assert.equal((await capstan(up, env)).code, 0);
  const again = await clientOf(kubeconfig);
  assert.ok(await again.find(ConfigMap, metadata));
  await again.close();
  await capstan(['down', '--data', data], env);

  assert.match((await capstan(['reset', '--data', data], env)).err, /there is no terminal to confirm it; give --yes/);
  await writeFile(join(data, 'thesis.txt'), 'mine');
  assert.match((await capstan(['reset', '--data', data, '--yes'], env)).err, /has other files in it/);
  await rm(join(data, 'thesis.txt'));
  const reset = await capstan(['reset', '--data', data, '--yes'], env);
  assert.deepEqual([reset.code, reset.err], [0, '']);
  assert.equal(existsSync(data), false);
  assert.doesNotMatch(await readFile(kubeconfig, 'utf8'), /capstan/);
});

test('a start in the background that fails says why', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-detach-'));
  t.after(() => rm(folder, { recursive: true }));
  const argv = [
    'up',
    '--detach',
    '--data',
    join(folder, 'd'),
    '--listen',
    ':0',
    '--clusters',
    'Big',
    '--operators',
    ',',
  ];
  const { code, err } = await capstan(argv, { ...process.env, HOME: folder });
  assert.equal(code, 1);
  assert.match(err, /^error: the cluster ended before it was ready:\n {2}a logical cluster cannot be named "Big"/m);
});

test('a data folder that cannot be written is reported in one sentence', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-detach-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'file');
  await writeFile(file, '');
  const { code, err } = await capstan(['up', '--detach', '--data', join(file, 'data')], {
    ...process.env,
    HOME: folder,
  });
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: cannot write to \S+\/file\/data\/up\.log: .*; check that the folder exists and is writable/m,
  );
  assert.doesNotMatch(err, /^ +at |bug/m);
});

const withoutMounts =
  process.platform === 'linux' && process.getuid?.() === 0
    ? false
    : 'needs root on Linux: it mounts a small file system';

test('a cluster in the background goes on when its disk is full', {
  skip: withoutMounts,
  timeout: 120_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-full-'));
  const data = join(folder, 'data');
  await mkdir(data);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', data]);
  const env = { ...process.env, HOME: folder };
  t.after(async () => {
    await capstan(['down', '--data', data], env);
    execFileSync('umount', ['-l', data]);
    await rm(folder, { recursive: true });
  });
  const up = ['up', '--detach', '--data', data, '--listen', ':0', '--operators', 'gimbal', '--log-level', 'debug'];
  const started = await capstan(up, env);
  assert.equal(started.code, 0, started.err);
  const pid = Number(/\(pid (\d+)\)/.exec(started.out)?.[1]);
  const client = await clientOf(join(data, 'kubeconfig'));
  const log = join(data, 'up.log');
  const fill = join(data, 'clusters', 'fill');
  const object = (name: string) =>
    ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } }) as const;
  try {
    await client.create(ConfigMap, object('before'));
    await writeFile(fill, Buffer.alloc(64 * 1024 * 1024)).catch((error: NodeJS.ErrnoException) =>
      assert.equal(error.code, 'ENOSPC'),
    );
    const size = (await readFile(log)).length;
    // Each is a line of the log, which has no room.
    for (let round = 0; round < 20; round++)
      await client.create(ConfigMap, object(`full-${round}`)).catch(() => undefined);
    assert.ok(await client.find(ConfigMap, { namespace: 'default', name: 'before' }), 'reads go on');
    assert.doesNotThrow(() => process.kill(pid, 0), 'the process is alive');
    await rm(fill);
    for (let tries = 0; ; tries++) {
      const created = await client.create(ConfigMap, object('after')).catch((error: unknown) => String(error));
      if (typeof created !== 'string') break;
      assert.ok(tries < 100, `writes do not work again: ${created}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok((await readFile(log)).length >= size);
  } finally {
    await client.close();
  }
});
