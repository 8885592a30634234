// Kubernetes' own clients: the JavaScript one from npm, and, where there is Go, a small program with client-go's informer and
// leader election (packages/apiserver/test/peers/client-go).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const PACKAGE = '@kubernetes/client-node@2.0.1';
const source = join(import.meta.dirname, '..', '..', 'packages', 'apiserver', 'test', 'peers', 'client-go');

export const clients: Peer = {
  what: 'the official clients for JavaScript and (with Go) for Go, which must work with the embedded API server',
  size: 115,
  version: `${PACKAGE}, client-go ${digestOf('applies.go', 'kinds.go', 'kinds.yaml', 'main.go', 'samples.go', 'go.mod', 'go.sum')}`,
  fetch(folder) {
    const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
    const installed = spawnSync('npm', ['install', '--prefix', folder, ...options, PACKAGE], { stdio: 'inherit' });
    if (installed.status !== 0) return false;
    if (spawnSync('go', ['version']).status !== 0) {
      console.log('peers: client-go is left out, because Go is not installed (https://go.dev/dl)');
      return true;
    }
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', join(folder, 'client-go'), '.'];
    const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
    return spawnSync('go', args, { cwd: source, env, stdio: 'inherit' }).status === 0;
  },
};

function digestOf(...names: string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(source, name)));
  return hash.digest('hex').slice(0, 12);
}
