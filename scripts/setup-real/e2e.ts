// Kubernetes' own end-to-end tests as a program, built from the Go modules that scripts/real/e2e pins.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const source = join(import.meta.dirname, '..', 'real', 'e2e');

export const e2e: Peer = {
  what: "Kubernetes' own end-to-end tests, which npm run conformance runs against the embedded API server",
  size: 90,
  version: `e2e ${digestOf('main.go', 'go.mod', 'go.sum')}`,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    console.log('e2e: building, which takes minutes the first time ...');
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(folder, 'e2e'), '.'];
    const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
    return spawnSync('go', args, { cwd: source, env, stdio: 'inherit' }).status === 0;
  },
};

function digestOf(...names: string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(source, name)));
  return hash.digest('hex').slice(0, 12);
}
