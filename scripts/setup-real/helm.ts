// Helm, built from its Go module by exact version: Go checks its downloads against the checksum database.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const MODULE = 'helm.sh/helm/v3/cmd/helm@v3.18.4';

export const realHelm: Peer = {
  what: 'Helm, which checks our chart',
  size: 60,
  version: MODULE,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    const env = { ...process.env, CGO_ENABLED: '0', GOBIN: folder, GOWORK: 'off', GOFLAGS: '-trimpath' };
    console.log('helm: building, which takes minutes the first time ...');
    if (spawnSync('go', ['install', MODULE], { env, stdio: 'inherit' }).status !== 0) return false;
    return existsSync(join(folder, 'helm'));
  },
};
