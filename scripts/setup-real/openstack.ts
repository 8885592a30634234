import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const PACKAGES = ['keystone', 'octavia-api'];

/** Debian's packages, unpacked and not installed: nothing of the machine is changed, and no service is started. */
export const realOpenstack: Peer = {
  what: 'Keystone and Octavia, which a discoverer must be able to read',
  size: 35,
  version: `Debian's ${PACKAGES.join(', ')}, unpacked`,
  lacks() {
    const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
    if (isThere('apt-get') && isThere('dpkg-deb') && isThere('/usr/bin/python3')) return undefined;
    return 'apt-get, dpkg-deb or /usr/bin/python3: these packages are Debian’s; run this on Debian 12';
  },
  fetch(folder) {
    const names = packageNames();
    if (names === undefined) return false;
    const debs = join(folder, 'debs');
    mkdirSync(debs);
    // Without the lock of the package system: only files are downloaded.
    const options = ['-q', '-o', 'Debug::NoLocking=1'];
    const download = spawnSync('apt-get', [...options, 'download', ...names], {
      cwd: debs,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (download.status !== 0) return false;
    const root = join(folder, 'root');
    for (const deb of readdirSync(debs)) {
      if (spawnSync('dpkg-deb', ['-x', join(debs, deb), root], { stdio: 'inherit' }).status !== 0) return false;
    }
    rmSync(debs, { recursive: true });
    return true;
  },
};

/** They and all that they need and this machine does not have. */
function packageNames(): string[] | undefined {
  const args = ['-s', '-o', 'Debug::NoLocking=1', 'install', '--no-install-recommends', ...PACKAGES];
  const { status, stdout } = spawnSync('apt-get', args, { encoding: 'utf8' });
  if (status === 0) return [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  console.error('apt-get does not know these packages; run apt-get update first, on Debian 12');
  return undefined;
}
