// `npm ci` installs from the lock file of a clone, whatever the platform. It is tried without a network and with an empty cache: npm then
// refuses a lock file that lacks a package, because it would have to ask a registry for it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { filesOfWorkspace, root } from './workspace-files.ts';

interface Lock {
  packages: Record<string, { link?: boolean; resolved?: string; integrity?: string }>;
}

const readLock = () => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;

suite('the lock file', () => {
  test('is enough for npm ci', { timeout: 60_000 }, () => {
    const { status, output } = tryNpmCi(readLock());
    assert.equal(status, 0, output);
  });

  test('is refused by npm ci without the package of another platform', { timeout: 60_000 }, () => {
    const lock = readLock();
    const foreign = Object.keys(lock.packages).find((path) => /[-/](?:win32|darwin|linux)-/.test(path));
    delete lock.packages[foreign ?? ''];
    assert.notEqual(tryNpmCi(lock).status, 0, `${foreign} is missing`);
  });

  test('has a checksum of every package, and no address', () => {
    for (const [path, { link, resolved, integrity }] of Object.entries(readLock().packages)) {
      if (!path.includes('node_modules/') || link) continue;
      assert.match(integrity ?? '', /^sha512-/, path);
      assert.equal(resolved, undefined, path);
    }
  });
});

function tryNpmCi(lock: Lock): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-lock-'));
  try {
    for (const file of filesOfWorkspace().filter((path) => /(?:^|\/)package\.json$/.test(path))) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      copyFileSync(join(root, file), join(folder, file));
    }
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--cache', join(folder, 'cache')];
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
    return { status, output: `${stdout}${stderr}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
