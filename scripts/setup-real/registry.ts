// Debian's docker-registry, and skopeo with the libraries that it needs, unpacked without being installed: root is not
// needed, and nothing of the system changes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';

const PACKAGES = ['docker-registry', 'skopeo', 'libgpgme11', 'libassuan0'];

export const realRegistry: Peer = {
  what: 'docker-registry and skopeo of Debian, with which Crossplane’s packages are pushed and pulled',
  size: 40,
  version: `debian: ${PACKAGES.join(' ')}`,
  lacks: () =>
    ['apt-get', 'dpkg'].every((program) => spawnSync(program, ['--version']).status === 0)
      ? undefined
      : 'left out, because this is no Debian system: its tests are skipped',
  fetch(folder) {
    const packages = join(folder, 'packages');
    mkdirSync(packages);
    // A newer Debian calls the library by another name; skopeo alone may be missing, and then its tests are skipped.
    if (!download(packages, 'docker-registry')) return false;
    for (const name of PACKAGES.slice(1)) if (!download(packages, name)) console.error(`${name} was left out`);
    for (const file of readdirSync(packages)) {
      const { status } = spawnSync('dpkg', ['-x', join(packages, file), folder], { stdio: 'inherit' });
      if (status !== 0) return false;
    }
    return existsSync(join(folder, 'usr', 'bin', 'docker-registry'));
  },
};

function download(folder: string, name: string): boolean {
  return spawnSync('apt-get', ['download', '-q', name], { cwd: folder, stdio: 'inherit' }).status === 0;
}
