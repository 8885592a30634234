import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lacksDebian, type Peer, unpackPackages } from '@capstan/cli/setup';

const PACKAGES = ['zsh', 'zsh-common', 'fish', 'fish-common', 'libpcre2-32-0'];

export const realShells: Peer = {
  what: 'zsh and fish of Debian: the completion of the command line is tested in them',
  size: 40,
  version: `debian: ${PACKAGES.join(' ')}`,
  lacks: lacksDebian,
  async fetch(folder, report) {
    const root = join(folder, 'root');
    if (!(await unpackPackages({ name: 'shells', packages: PACKAGES, folder, root, report }))) return false;
    return existsSync(join(root, 'bin/zsh')) && existsSync(join(root, 'usr/bin/fish'));
  },
};
