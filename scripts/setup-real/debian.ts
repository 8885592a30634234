// Debian's packages, unpacked and not installed: the machine is not changed, and no service is started.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What this machine lacks to fetch them. */
export function lacksDebian(): string | undefined {
  const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
  return isThere('apt-get') && isThere('dpkg-deb')
    ? undefined
    : 'apt-get and dpkg-deb are not there: these packages are Debian’s; run this on Debian 12';
}

/** Downloads the packages and unpacks them into `root`; false when that did not succeed, after the reason is on stderr. */
export function unpackPackages(name: string, packages: readonly string[], folder: string, root: string): boolean {
  const work = join(folder, 'work');
  const debs = join(work, 'debs');
  mkdirSync(debs, { recursive: true });
  if (!download(debs, packages, [])) {
    console.log(`${name}: fetching the lists of packages first ...`);
    if (!download(debs, packages, ownLists(work))) return false;
  }
  for (const deb of readdirSync(debs)) {
    if (spawnSync('dpkg-deb', ['-x', join(debs, deb), root], { stdio: 'inherit' }).status !== 0) return false;
  }
  rmSync(work, { recursive: true });
  return true;
}

function download(folder: string, packages: readonly string[], options: readonly string[]): boolean {
  const { status, stderr } = spawnSync(
    'apt-get',
    [...options, '-o', 'Debug::NoLocking=1', 'download', '-qq', ...packages],
    { cwd: folder, encoding: 'utf8' },
  );
  if (status !== 0) console.error(stderr.trim());
  return status === 0;
}

/** For systems whose lists of packages were deleted, as those of container images are: lists in a folder of our own. */
function ownLists(work: string): string[] {
  const [lists, cache] = [join(work, 'lists'), join(work, 'cache')];
  const options = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`, '-o', 'APT::Sandbox::User=root'];
  mkdirSync(join(lists, 'partial'), { recursive: true });
  mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
  spawnSync('apt-get', [...options, 'update', '-qq'], { stdio: 'inherit' });
  return options;
}
