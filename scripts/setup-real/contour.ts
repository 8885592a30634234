// Contour, which `npm run bench -- xds --peer` measures Sesame beside: built from its Go module, in the one version that is named here, with
// its CRDs. Its own go.mod and go.sum pin everything that it is built from, and its sum is checked against the one below.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from '@capstan/cli/setup';
import { parseAllDocuments } from 'yaml';

const MODULE = 'github.com/projectcontour/contour';
const VERSION = 'v1.33.0';
const SUM = 'h1:Aewh+Yt5DY005CGvdxtpquZWmc6/6IsDTs1ze8CvtZk=';
const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };

export const contour: Peer = {
  what: 'Contour, which Sesame is compared with, and measured beside by npm run bench -- xds --peer',
  size: 60,
  version: `contour ${VERSION}`,
  lacks: () =>
    spawnSync('go', ['version']).status === 0
      ? undefined
      : 'left out, because Go is not installed: install it (https://go.dev/dl) and run this again',
  fetch(folder) {
    const module = download();
    if (module === undefined) return false;
    // A module of the cache cannot be the main module: its folder is read-only.
    const work = join(folder, 'work');
    cpSync(module, work, { recursive: true });
    spawnSync('chmod', ['-R', 'u+w', work]);
    console.log('contour: building, which takes minutes the first time ...');
    const args = [
      'build',
      '-trimpath',
      '-buildvcs=false',
      '-ldflags',
      '-s -w',
      '-o',
      join(folder, 'contour'),
      './cmd/contour',
    ];
    const isBuilt = spawnSync('go', args, { cwd: work, env, stdio: 'inherit' }).status === 0;
    if (isBuilt) writeFileSync(join(folder, 'crds.json'), JSON.stringify(definitionsIn(work)));
    rmSync(work, { recursive: true });
    return isBuilt;
  },
};

/** The folder of the module; undefined, after the reason is printed, when it cannot be had as it is pinned. */
function download(): string | undefined {
  const answer = spawnSync('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const {
    Dir: folder,
    Sum: sum,
    Error: problem,
  } = JSON.parse(answer.stdout || '{}') as Record<string, string | undefined>;
  if (answer.status === 0 && folder !== undefined && sum === SUM) return folder;
  console.error(`${MODULE}@${VERSION}: ${problem ?? `its sum is ${sum ?? 'unknown'}, and ${SUM} is expected`}`);
  return undefined;
}

function definitionsIn(work: string): unknown[] {
  const text = readFileSync(join(work, 'examples', 'contour', '01-crds.yaml'), 'utf8');
  return parseAllDocuments(text).flatMap((document) => (document.toJSON() as object | null) ?? []);
}
