// The small operator that `npm run bench -- runtime --peer` measures Capstan's runtime beside: written in Go on
// controller-runtime, built from the modules that scripts/real/controller-runtime pins.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const source = join(import.meta.dirname, '..', 'real', 'controller-runtime');

export const controllerRuntime: Peer = {
  what: 'a small operator on controller-runtime, beside which npm run bench -- runtime --peer measures the same on Capstan',
  size: 50,
  version: `controller-runtime ${digestOf('main.go', 'page.go', 'go.mod', 'go.sum')}`,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    console.log('controller-runtime: building, which takes minutes the first time ...');
    const program = join(folder, 'page-operator');
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', program, '.'];
    const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
    return spawnSync('go', args, { cwd: source, env, stdio: 'inherit' }).status === 0;
  },
};

function digestOf(...names: string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(source, name)));
  return hash.digest('hex').slice(0, 12);
}
