import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Debian's chromium, installed by its package system: it needs a hundred libraries, fonts and a sandbox that belong to the machine. */
export const realBrowser: Peer = {
  what: 'chromium: the pages of the console are tested in it',
  size: 90,
  version: "Debian's chromium",
  lacks() {
    if (installed() !== undefined) return undefined;
    if (spawnSync('apt-get', ['--version']).error === undefined && process.getuid?.() === 0) return undefined;
    return 'chromium: install it (Debian: apt-get install chromium), or run this as root on Debian';
  },
  fetch(folder) {
    if (installed() === undefined) {
      const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      const run = (...args: string[]) =>
        spawnSync('apt-get', ['-q', '-y', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env: environment })
          .status;
      run('update');
      if (run('install', '--no-install-recommends', 'chromium', 'fonts-dejavu-core') !== 0) return false;
    }
    const path = installed();
    if (path !== undefined) writeFileSync(join(folder, 'path'), `${path}\n`);
    return path !== undefined;
  },
};

function installed(): string | undefined {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return undefined;
}
