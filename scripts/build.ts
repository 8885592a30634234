// npm run build: the npm package with all programs, in dist/capstan and as dist/capstan-VERSION.tgz, those of the libraries, and on
// Linux an executable for this machine.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from './build/bundle.ts';
import { buildLibraryPackages } from './build/library-packages.ts';
import { buildProgramPackage } from './build/program-package.ts';
import { buildExecutable, executableName } from './executable/build-executable.ts';
import { startHeartbeat } from './heartbeat.ts';

// With --to FOLDER: the folder of the programs' package alone. With --program FILE --to FOLDER: one program, bundled in the same way.
const { to, program } = parseArgs({ options: { to: { type: 'string' }, program: { type: 'string' } } }).values;
const root = dirname(import.meta.dirname);
const dist = join(root, 'dist');
const folder = join(dist, 'capstan');
if (to !== undefined && program !== undefined) {
  const entries = { [basename(program).replace(/\.\w+$/, '')]: resolve(program) };
  await bundle({ entries, folder: to, folderAt: (path) => `${path}/`, constants: {} });
  process.exit(0);
}
if (to !== undefined) {
  await buildProgramPackage(root, to);
  process.exit(0);
}
const { report, stop } = startHeartbeat();
report('Building the npm package ...');
mkdirSync(dist, { recursive: true });
await buildProgramPackage(root, folder);
const packed = execFileSync('npm', ['pack', folder, '--pack-destination', dist, '--silent'], { encoding: 'utf8' });
report(`dist/${packed.trim()}: try it in an empty folder with \`npx ./${packed.trim()} up\``);
for (const library of buildLibraryPackages(root, join(dist, 'npm'))) {
  const name = execFileSync('npm', ['pack', library, '--pack-destination', dist, '--silent'], { encoding: 'utf8' });
  report(`dist/${name.trim()}`);
}
if (process.platform === 'linux') {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const name = executableName(folder, architecture);
  buildExecutable({ root, bundle: folder, architecture, to: join(dist, name) });
  report(`dist/${name}`);
}
await stop();
