// Crossplane's own renderer and converter, in the two versions that Crossplane's packages are taken over from. The renderer is an
// internal package, so a program of ours (scripts/real/crossplane) is built inside of a copy of each module. The go.mod and go.sum
// of the module pin everything that it is built from, and the sum of the module is checked against the one below.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';

const VERSIONS = [
  {
    name: 'v1',
    module: 'github.com/crossplane/crossplane',
    version: 'v1.20.0',
    sum: 'h1:Wr3+/CilaMbRQ7u4e+m4XBmoARahBpENIYClGzIXpS8=',
  },
  {
    name: 'v2',
    module: 'github.com/crossplane/crossplane/v2',
    version: 'v2.0.2',
    sum: 'h1:OKA26pnm3/uFHN1zF9d2CGkkvod9H/6PrK4xmL81BgU=',
  },
] as const;
type Version = (typeof VERSIONS)[number];

const source = join(import.meta.dirname, '..', 'real', 'crossplane');
// The modules name a toolchain of their own; the one that is installed is at least as new.
const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOTOOLCHAIN: 'local' };

export const crossplane: Peer = {
  what: 'the renderer and the converter of Crossplane 1.20 and 2, which ours must agree with',
  size: 90,
  version: VERSIONS.map(({ name, version }) => `crossplane ${version} ${digestOf(name)}`).join(', '),
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    console.log('crossplane: building, which takes minutes the first time ...');
    return VERSIONS.every((version) => build(version, folder));
  },
};

function build(version: Version, folder: string): boolean {
  const module = download(version);
  if (module === undefined) return false;
  const work = join(folder, `work-${version.name}`);
  try {
    cpSync(module, work, { recursive: true });
    // Folders of the module cache are read-only.
    spawnSync('chmod', ['-R', 'u+w', work]);
    mkdirSync(join(work, 'capstan-peer'));
    cpSync(join(source, version.name, 'main.go'), join(work, 'capstan-peer', 'main.go'));
    const out = join(folder, `crossplane-${version.name}`);
    const args = ['build', '-buildvcs=false', '-ldflags', '-s -w', '-o', out, './capstan-peer'];
    return spawnSync('go', args, { cwd: work, env, stdio: 'inherit' }).status === 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The folder of the module; undefined, after the reason is printed, when it cannot be had as it is pinned. */
function download({ module, version, sum: expected }: Version): string | undefined {
  const answer = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const {
    Dir: folder,
    Sum: sum,
    Error: problem,
  } = JSON.parse(answer.stdout || '{}') as Record<string, string | undefined>;
  if (answer.status === 0 && folder !== undefined && sum === expected) return folder;
  console.error(`${module}@${version}: ${problem ?? `its sum is ${sum ?? 'unknown'}, and ${expected} is expected`}`);
  return undefined;
}

function digestOf(name: string): string {
  return createHash('sha256')
    .update(readFileSync(join(source, name, 'main.go')))
    .digest('hex')
    .slice(0, 12);
}
