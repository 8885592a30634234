import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lacksDebian, unpackPackages } from './debian.ts';
import type { Peer } from './peer.ts';

const PACKAGES = ['zsh', 'zsh-common', 'fish', 'fish-common', 'libpcre2-32-0'];

export const realShells: Peer = {
  what: 'zsh and fish of Debian: the completion of the command line is tested in them',
  size: 40,
  version: `debian: ${PACKAGES.join(' ')}`,
  lacks: lacksDebian,
  fetch(folder) {
    const root = join(folder, 'root');
    if (!unpackPackages('shells', PACKAGES, folder, root)) return false;
    return existsSync(join(root, 'bin/zsh')) && existsSync(join(root, 'usr/bin/fish'));
  },
};
