// Debian's docker-registry, and skopeo with the libraries that it needs, unpacked without being installed: root is not
// needed, and nothing of the system changes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

/** Only the first must be there; without the others, the tests with skopeo are skipped. */
const PACKAGES = ['docker-registry', 'skopeo', 'libgpgme11', 'libassuan0'];

export const realRegistry: Peer = {
  what: 'docker-registry and skopeo of Debian, with which Crossplane’s packages are pushed and pulled',
  size: 40,
  version: `debian: ${PACKAGES.join(' ')}`,
  lacks: () =>
    ['apt-get', 'dpkg'].every((program) => spawnSync(program, ['--version']).status === 0)
      ? undefined
      : 'left out, because apt-get and dpkg are not there: bring it on a Debian system, or go without its tests',
  fetch(folder) {
    const work = join(folder, 'work');
    const packages = join(work, 'packages');
    mkdirSync(packages, { recursive: true });
    for (const [index, name] of PACKAGES.entries()) {
      if (download(name, packages, []) || download(name, packages, ownLists(work))) continue;
      if (index === 0) return false;
      console.error(`${name} could not be fetched, and is left out`);
    }
    for (const file of readdirSync(packages)) {
      if (spawnSync('dpkg', ['-x', join(packages, file), folder], { stdio: 'inherit' }).status !== 0) return false;
    }
    rmSync(work, { recursive: true });
    return existsSync(join(folder, 'usr', 'bin', 'docker-registry'));
  },
};

function download(name: string, folder: string, options: readonly string[]): boolean {
  const detail = spawnSync('apt-get', [...options, 'download', '-qq', name], { cwd: folder, encoding: 'utf8' });
  // As root it warns that it does not sandbox itself, which nothing asked it to.
  if (detail.status !== 0) console.error(detail.stderr.trim());
  return detail.status === 0;
}

/** For systems whose lists of packages were deleted, as those of container images are: lists in a folder of our own. */
function ownLists(work: string): string[] {
  const [lists, cache] = [join(work, 'lists'), join(work, 'cache')];
  const options = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`, '-o', 'APT::Sandbox::User=root'];
  if (!existsSync(lists)) {
    for (const each of [lists, cache])
      mkdirSync(join(each, each === lists ? 'partial' : 'archives/partial'), { recursive: true });
    console.log('registry: the lists of packages are fetched first ...');
    spawnSync('apt-get', [...options, 'update', '-qq'], { stdio: 'inherit' });
  }
  return options;
}
