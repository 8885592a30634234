// npm run image: the container images, without a container engine, in dist/images: an OCI layout for both architectures, a
// docker-archive for each, and SBOMs. The same sources give the same bytes.
// Usage: npm run image [-- --arch amd64,arm64] [--out FOLDER] [--push REGISTRY/PATH] [--lock]
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildProgramPackage } from './build/program-package.ts';
import { startHeartbeat } from './heartbeat.ts';
import { buildImages } from './image/build-images.ts';
import { ARCHITECTURES, writeLock } from './image/debian-lock.ts';
import { pushImages } from './image/push-images.ts';

const root = dirname(import.meta.dirname);
const { values } = parseArgs({
  options: { arch: { type: 'string' }, out: { type: 'string' }, push: { type: 'string' }, lock: { type: 'boolean' } },
});
if (values.lock) {
  await writeLock();
  console.log('scripts/image/debian.lock.json has the present versions of Debian');
  process.exit(0);
}
for (const program of ['dpkg-deb', 'xz']) {
  if (spawnSync(program, ['--version']).error !== undefined) {
    console.error(`${program} is not installed: it unpacks packages of Debian; install it (Debian: dpkg, xz-utils)`);
    process.exit(1);
  }
}
const wanted = values.arch?.split(',') ?? ARCHITECTURES;
const architectures = ARCHITECTURES.filter((name) => wanted.includes(name));
if (architectures.length !== wanted.length) {
  console.error(`--arch cannot be "${values.arch}"; use ${ARCHITECTURES.join(', ')} or both`);
  process.exit(2);
}
const { report, stop } = startHeartbeat();
report('Building the npm package ...');
const out = values.out ?? join(root, 'dist');
const bundle = join(out, 'capstan');
await buildProgramPackage(root, bundle);
report('Building the images ...');
const built = await buildImages({
  root,
  bundle,
  folder: join(out, 'images'),
  architectures,
  epoch: Number(process.env['SOURCE_DATE_EPOCH'] ?? 0),
  report,
});
if (values.push !== undefined) await pushImages(built, { to: values.push, report });
await stop();
