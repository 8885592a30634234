// The images as a cluster would have them: pushed to a real registry by our own client, pulled from it, unpacked, and run as their
// user on a root that cannot be written. The registry comes with npm run setup:real -- registry.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createRegistryClient, parseReference } from '@capstan/crossplane/oci';
import { skip, startRealRegistry } from '@capstan/crossplane/test/registry';
import { buildProgramPackage } from '../build/program-package.ts';
import { type BuiltImages, buildImages, IMAGES } from './build-images.ts';
import { type FileTree, tarOf, treeOf } from './file-tree.ts';
import { layerOf } from './oci-image.ts';
import { pushImages } from './push-images.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

describe('an archive of files', () => {
  const long = `${'folder-with-a-long-name/'.repeat(6)}file`;
  const tree: FileTree = new Map([
    ['b/program', { type: 'file', mode: 0o755, bytes: Buffer.from('#!/bin/sh\n') }],
    ['a', { type: 'link', target: 'b/program' }],
    ['tmp', { type: 'folder', mode: 0o1777 }],
    [long, { type: 'file', mode: 0o644, bytes: Buffer.alloc(1500, 'x') }],
  ]);

  test('is the same whatever the order of the files, and is read back whole', () => {
    const bytes = tarOf(tree);
    assert.ok(bytes.equals(tarOf(new Map([...tree].toReversed()))));
    const read = treeOf(bytes);
    for (const [path, entry] of tree) assert.deepEqual(read.get(path), entry);
    assert.equal(layerOf(tree).digest, layerOf(new Map([...tree].toReversed())).digest);
  });

  test('is one that tar reads', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-tar-'));
    t.after(() => rmSync(folder, { recursive: true }));
    execFileSync('tar', ['-x', '-C', folder], { input: tarOf(tree) });
    assert.equal(readFileSync(join(folder, 'a'), 'utf8'), '#!/bin/sh\n');
    assert.equal(readFileSync(join(folder, long), 'utf8').length, 1500);
  });
});

const needs =
  skip !== false
    ? skip
    : process.platform !== 'linux' || process.getuid?.() !== 0
      ? 'needs root on Linux: the image is run by chroot'
      : false;

test('the images are pulled from a registry and run as their user on a read-only root', { skip: needs }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-image-'));
  const registry = await startRealRegistry({ tls: false, password: false });
  const client = createRegistryClient();
  t.after(async () => {
    await client.close();
    await registry.stop();
    rmSync(folder, { recursive: true });
  });
  const bundle = join(folder, 'bundle');
  await buildProgramPackage(ROOT, bundle);
  const built: readonly BuiltImages[] = await buildImages({
    root: ROOT,
    bundle,
    folder: join(folder, 'images'),
    architectures: ['amd64'],
    epoch: 0,
    report: () => undefined,
  });
  await pushImages(built, { to: `${registry.address}/team`, report: () => undefined });

  for (const { name, version } of built) {
    const reference = parseReference(`${registry.address}/team/${name}:${version}`);
    const index = JSON.parse((await client.manifest(reference)).body.toString('utf8')) as {
      manifests: { digest: string; platform: { architecture: string } }[];
    };
    const own = index.manifests.find(({ platform }) => platform.architecture === 'amd64');
    assert.ok(own);
    const manifest = JSON.parse(
      (await client.manifest({ ...reference, digest: own.digest })).body.toString('utf8'),
    ) as {
      layers: { digest: string; size: number }[];
    };
    const root = join(folder, name);
    mkdirSync(root);
    for (const layer of manifest.layers) {
      const chunks: Buffer[] = [];
      for await (const chunk of client.blob(reference, layer)) chunks.push(chunk);
      execFileSync('tar', ['-xz', '-C', root], { input: Buffer.concat(chunks) });
    }
    const run = (...argv: string[]) => runIn(root, argv);
    assert.match(run('/usr/bin/capstan', 'version').stdout, new RegExp(`^capstan ${version} \\(Node\\.js 26\\.`));
    for (const program of ['sesame', 'gimbal', 'submariner', 'kroxylicious', 'crossplane', 'subctl'])
      assert.match(run(`/usr/bin/${program}`, '--help').stdout, new RegExp(`^(?:Usage: )?${program}`, 'm'), program);
    // Everything that an operator loads is in the bundle.
    const crds = run('/usr/bin/capstan', 'crds', '-o', 'json');
    assert.equal(crds.status, 0, crds.stderr);
    assert.ok((JSON.parse(crds.stdout) as { items: object[] }).items.length > 10);
    const sbom = JSON.parse(readFileSync(join(root, `usr/share/sbom/${name}.spdx.json`), 'utf8')) as {
      packages: { name: string }[];
    };
    for (const part of ['libc6', 'node', 'undici'])
      assert.ok(
        sbom.packages.some((one) => one.name === part),
        part,
      );
    if (name === 'capstan-gateway') {
      assert.match(run('/usr/bin/wg', '--version').stdout, /^wireguard-tools/);
      assert.match(run('/usr/sbin/ip', '-V').stdout, /iproute2/);
    }
    assert.ok(IMAGES.some((image) => image.name === name));
  }
});

/** As a container would: the root is mounted so that it cannot be written, and the user is the image's. */
function runIn(root: string, argv: readonly string[]) {
  const script =
    'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec chroot --userspec=65532:65532 "$0" "$@"';
  // As in a container: without the variables that npm sets for a checkout.
  const env = { PATH: process.env['PATH'] ?? '' };
  const options = { encoding: 'utf8', timeout: 60_000, maxBuffer: 16 * 1024 * 1024, env } as const;
  return spawnSync('unshare', ['--mount', 'sh', '-c', script, root, ...argv], options);
}
