// cert-manager's controller, webhook and CA injector, built from its library (scripts/real/cert-manager), with its definitions. They must work
// with the embedded API server as with any cluster.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const MODULE = 'github.com/cert-manager/cert-manager';
const source = join(import.meta.dirname, '..', 'real', 'cert-manager');
const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };

export const certManager: Peer = {
  what: 'cert-manager with its webhook and its CA injector, which must work with the embedded API server',
  size: 80,
  version: `cert-manager ${digestOf('main.go', 'go.mod', 'go.sum')}`,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    console.log('cert-manager: building, which takes minutes the first time ...');
    const args = [
      'build',
      '-trimpath',
      '-buildvcs=false',
      '-ldflags',
      '-s -w',
      '-o',
      join(folder, 'cert-manager'),
      '.',
    ];
    if (spawnSync('go', args, { cwd: source, env, stdio: 'inherit' }).status !== 0) return false;
    const module = spawnSync('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], { cwd: source, env, encoding: 'utf8' });
    if (module.status !== 0) return false;
    cpSync(join(module.stdout.trim(), 'deploy', 'crds'), join(folder, 'crds'), { recursive: true });
    return true;
  },
};

function digestOf(...names: string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(source, name)));
  return hash.digest('hex').slice(0, 12);
}
