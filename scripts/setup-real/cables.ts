// Debian's programs for cables between clusters, unpacked and not installed: the machine is not changed, and no service is
// started. strongSwan looks for its plugins under /usr/lib/ipsec only, so the tests start it in a mount namespace of its own
// in which this folder lies over /usr.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';

const PACKAGES = [
  'wireguard-go',
  'wireguard-tools',
  'charon-systemd',
  'strongswan-swanctl',
  'strongswan-libcharon',
  'libstrongswan',
  'libstrongswan-standard-plugins',
  'libcharon-extra-plugins',
  'iproute2',
  'iputils-ping',
  'tcpdump',
  'libpcap0.8',
];

export const realCables: Peer = {
  what: 'wireguard-go, strongSwan, iproute2, ping and tcpdump of Debian: the cables of Submariner’s tests (root on Linux)',
  size: 25,
  version: `debian: ${PACKAGES.join(' ')}`,
  lacks() {
    const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
    return isThere('apt-get') && isThere('dpkg-deb')
      ? undefined
      : 'apt-get and dpkg-deb are not there: these packages are Debian’s; run this on Debian 12';
  },
  fetch(folder) {
    const work = join(folder, 'work');
    const debs = join(work, 'debs');
    mkdirSync(debs, { recursive: true });
    if (!download(debs, [])) {
      console.log('cables: fetching the lists of packages first ...');
      if (!download(debs, ownLists(work))) return false;
    }
    const root = join(folder, 'root');
    for (const deb of readdirSync(debs)) {
      if (spawnSync('dpkg-deb', ['-x', join(debs, deb), root], { stdio: 'inherit' }).status !== 0) return false;
    }
    rmSync(work, { recursive: true });
    return existsSync(join(root, 'usr/bin/wireguard-go')) && existsSync(join(root, 'usr/sbin/charon-systemd'));
  },
};

function download(folder: string, options: readonly string[]): boolean {
  const { status, stderr } = spawnSync(
    'apt-get',
    [...options, '-o', 'Debug::NoLocking=1', 'download', '-qq', ...PACKAGES],
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
