// Debian's programs for cables between clusters, unpacked and not installed: the machine is not changed, and no service is
// started. strongSwan searches for its plugins under /usr/lib/ipsec only, so the tests start it in a mount namespace of its own
// in which this folder lies over /usr.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lacksDebian, unpackPackages } from './debian.ts';
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
  lacks: lacksDebian,
  async fetch(folder, report) {
    const root = join(folder, 'root');
    if (!(await unpackPackages({ name: 'cables', packages: PACKAGES, folder, root, report }))) return false;
    return existsSync(join(root, 'usr/bin/wireguard-go')) && existsSync(join(root, 'usr/sbin/charon-systemd'));
  },
};
