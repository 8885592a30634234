import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePrivateFolder } from './private-folder.ts';

test('a folder is made with all above it, for its owner alone, and only once', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'capstan-folder-'));
  t.after(() => rm(root, { recursive: true }));
  const folder = join(root, 'a', 'b');
  await makePrivateFolder(folder);
  await makePrivateFolder(folder);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  await writeFile(join(root, 'file'), '');
  await assert.rejects(makePrivateFolder(join(root, 'file', 'c')));
});

const skip = process.platform === 'linux' ? false : 'there is no /proc: run it on Linux';
test('where the system allows none it is an error, and ends', { skip, timeout: 5000 }, () =>
  assert.rejects(makePrivateFolder('/proc/nowhere/data')),
);
