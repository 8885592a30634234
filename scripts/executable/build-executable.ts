// The programs and Node.js as one file that runs on its own, on Linux. See docs/decisions for why it is built like this.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import type { Architecture } from '../image/debian-lock.ts';
import { nodeTree } from '../image/root-files.ts';
import { addResource } from './add-resource.ts';

export interface Executable {
  readonly root: string;
  /** The folder of the programs' package. */
  readonly bundle: string;
  readonly architecture: Architecture;
  readonly to: string;
}

/** Writes the executable; the same sources give the same bytes. */
export function buildExecutable({ root, bundle, architecture, to }: Executable): void {
  const node = nodeTree(root, architecture).tree.get('usr/bin/node');
  if (node?.type !== 'file') throw new Error(`Node.js for ${architecture} has no program`);
  const program = addResource(node.bytes, 'NODE_SEA_BLOB', resourceOf(bundle));
  const fuse = program.indexOf(FUSE);
  if (fuse === -1 || program.includes(FUSE, fuse + 1)) throw new Error('this Node.js does not carry programs');
  program.write('1', fuse + FUSE.length - 1);
  writeFileSync(to, program, { mode: 0o755 });
}

/** `capstan-VERSION-linux-x64` */
export function executableName(bundle: string, architecture: Architecture): string {
  return `capstan-${versionOf(bundle)}-linux-${architecture === 'amd64' ? 'x64' : architecture}`;
}

/** In Node.js there is exactly one; with 1 at its end the resource is searched for. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:0';

/** The resource in the executable: the start, and the files of the package. */
function resourceOf(bundle: string): Buffer {
  const work = mkdtempSync(join(tmpdir(), 'capstan-executable-'));
  try {
    const files = globSync('**', { cwd: bundle, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(bundle.length + 1))
      .filter((file) => !file.startsWith('node_modules/'))
      .toSorted();
    const digest = createHash('sha256');
    for (const file of files)
      digest
        .update(`${file}\0`)
        .update(readFileSync(join(bundle, file)))
        .update('\0');
    writeFileSync(join(work, 'VERSION'), `${versionOf(bundle)}-${digest.digest('hex').slice(0, 12)}`);
    buildSync({
      entryPoints: [join(import.meta.dirname, 'start.ts')],
      outfile: join(work, 'start.cjs'),
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      logLevel: 'warning',
    });
    const assets = Object.fromEntries(files.map((file) => [file, join(bundle, file)]));
    const config = {
      // The path is part of the result.
      main: 'start.cjs',
      output: 'resource',
      disableExperimentalSEAWarning: true,
      assets: { VERSION: 'VERSION', ...assets },
    };
    writeFileSync(join(work, 'config.json'), JSON.stringify(config));
    execFileSync(process.execPath, ['--experimental-sea-config', 'config.json'], { cwd: work, stdio: 'pipe' });
    return readFileSync(join(work, 'resource'));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function versionOf(bundle: string): string {
  return (JSON.parse(readFileSync(join(bundle, 'package.json'), 'utf8')) as { version: string }).version;
}
