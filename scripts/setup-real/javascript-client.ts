import { spawnSync } from 'node:child_process';
import type { Peer } from './peer.ts';

const PACKAGE = '@kubernetes/client-node@2.0.1';

export const javascriptClient: Peer = {
  what: 'the official JavaScript client, which must work with the embedded API server',
  size: 85,
  version: PACKAGE,
  fetch(folder) {
    const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
    return spawnSync('npm', ['install', '--prefix', folder, ...options, PACKAGE], { stdio: 'inherit' }).status === 0;
  },
};
