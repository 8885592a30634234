// npm run release: everything that is published, in dist/release: tarballs of npm, executables, images, chart, base for kustomize,
// SBOMs and checksums. The same sources give the same bytes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writePackages } from './build/charts.ts';
import { buildLibraryPackages } from './build/library-packages.ts';
import { buildProgramPackage } from './build/program-package.ts';
import { buildExecutable, executableName } from './executable/build-executable.ts';
import { startHeartbeat } from './heartbeat.ts';
import { buildImages } from './image/build-images.ts';
import { ARCHITECTURES } from './image/debian-lock.ts';
import { type FileTree, tarOf } from './image/file-tree.ts';

const root = dirname(import.meta.dirname);
const dist = join(root, 'dist');
const release = join(dist, 'release');
const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? 0);
rmSync(release, { recursive: true, force: true });
mkdirSync(release, { recursive: true });

const { report: say, stop } = startHeartbeat();
execFileSync(process.execPath, [join(import.meta.dirname, 'audit.ts')], { cwd: root, stdio: 'inherit' });
say('Building the npm packages ...');
await buildProgramPackage(root, join(dist, 'capstan'));
for (const folder of [join(dist, 'capstan'), ...buildLibraryPackages(root, join(dist, 'npm'))])
  execFileSync('npm', ['pack', folder, '--pack-destination', release, '--silent'], { stdio: 'pipe' });

say('Building the chart and the base for kustomize ...');
await writePackages(root, dist);
const { version } = JSON.parse(readFileSync(join(dist, 'capstan/package.json'), 'utf8')) as { version: string };
archive(join(dist, 'chart', 'capstan'), 'capstan', `capstan-chart-${version}.tgz`);
archive(join(dist, 'kustomize'), 'kustomize', `capstan-kustomize-${version}.tgz`);

say('Building the executables ...');
for (const architecture of ARCHITECTURES) {
  const name = executableName(join(dist, 'capstan'), architecture);
  const file = join(dist, name);
  buildExecutable({ root, bundle: join(dist, 'capstan'), architecture, to: file });
  writeFileSync(join(release, `${name}.gz`), gzipSync(readFileSync(file), { level: 9 }));
}

say('Building the images ...');
const report = (line: string) => say(`  ${line}`);
await buildImages({
  root,
  bundle: join(dist, 'capstan'),
  folder: join(release, 'images'),
  architectures: ARCHITECTURES,
  epoch,
  report,
});
for (const name of readdirSync(join(release, 'images'))) {
  const path = join(release, 'images', name);
  if (statSync(path).isDirectory()) archive(path, '', `${name}.tar.gz`);
  else renameSync(path, join(release, name));
}
rmSync(join(release, 'images'), { recursive: true });

const sums = readdirSync(release)
  .toSorted()
  .map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(release, name)))
        .digest('hex')}  ${name}`,
  );
writeFileSync(join(release, 'SHA256SUMS'), `${sums.join('\n')}\n`);
say(`dist/release: ${sums.length} files, with SHA256SUMS`);
await stop();

/** A folder as an archive that does not depend on when and where it was created. */
function archive(folder: string, below: string, name: string): void {
  const tree: FileTree = new Map();
  for (const file of globSync('**', { cwd: folder, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const inside = join(below, path.slice(folder.length + 1));
    tree.set(inside, { type: 'file', mode: 0o644, bytes: readFileSync(path) });
  }
  writeFileSync(join(release, name), gzipSync(tarOf(tree), { level: 9 }));
}
