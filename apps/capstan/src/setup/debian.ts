// Debian's packages, unpacked and not installed: the machine is not changed, and no service is started.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from './peer.ts';
import { runProgram } from './run-program.ts';

/** Returns the reason why this machine cannot fetch them; undefined where it can. */
export function lacksDebian(): string | undefined {
  const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
  return isThere('apt-get') && isThere('dpkg-deb')
    ? undefined
    : 'apt-get and dpkg-deb are not there: these packages are Debian’s; run this on Debian 12';
}

export interface UnpackOptions {
  /** The name of the peer, for lines of progress. */
  readonly name: string;
  readonly packages: readonly string[];
  /** For work that is removed at the end. */
  readonly folder: string;
  /** Where the content of the packages goes. */
  readonly root: string;
  readonly report: Report;
}

/** Downloads the packages and unpacks them; false when that did not succeed, after the reason was reported. */
export async function unpackPackages(options: UnpackOptions): Promise<boolean> {
  const { name, packages, folder, root, report } = options;
  const work = join(folder, 'work');
  const debs = join(work, 'debs');
  mkdirSync(debs, { recursive: true });
  if (!(await download(debs, packages, [], report))) {
    report(`${name}: fetching the lists of packages first ...`);
    if (!(await download(debs, packages, await ownLists(work, report), report))) return false;
  }
  for (const deb of readdirSync(debs)) {
    const { code, stderr } = await runProgram('dpkg-deb', ['-x', join(debs, deb), root]);
    if (code === 0) continue;
    report(`${name}: ${deb} cannot be unpacked: ${stderr.trim()}`);
    return false;
  }
  rmSync(work, { recursive: true });
  return true;
}

async function download(
  folder: string,
  packages: readonly string[],
  options: readonly string[],
  report: Report,
): Promise<boolean> {
  const args = [...options, '-o', 'Debug::NoLocking=1', 'download', '-qq', ...packages];
  const { code, stderr } = await runProgram('apt-get', args, { cwd: folder });
  if (code !== 0) report(stderr.trim());
  return code === 0;
}

/** For systems whose lists of packages were deleted, as those of container images are: lists in a folder of our own. */
async function ownLists(work: string, report: Report): Promise<string[]> {
  const [lists, cache] = [join(work, 'lists'), join(work, 'cache')];
  const options = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`, '-o', 'APT::Sandbox::User=root'];
  mkdirSync(join(lists, 'partial'), { recursive: true });
  mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
  const { code, stderr } = await runProgram('apt-get', [...options, 'update', '-qq']);
  if (code !== 0) report(stderr.trim());
  return options;
}
