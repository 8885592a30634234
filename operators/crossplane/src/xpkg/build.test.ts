import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { digestOf } from '../oci/digest.ts';
import { decompress } from './archive/decompress.ts';
import { readTar } from './archive/tar-reader.ts';
import { tarFile, writeTar } from './archive/tar-writer.ts';
import { buildPackage, type SourceFile } from './build.ts';
import { bytesOf, imageOf, layerOf } from './image.test-support.ts';
import { imageFileBytes, openImageFile } from './image-file.ts';
import { readPackage } from './package.ts';
import { configOf, packageStream } from './package-stream.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-build-'));
after(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string): SourceFile => ({ name, bytes: Buffer.from(text) });
const META = file(
  'crossplane.yaml',
  '# my provider\napiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\n',
);
const crd = (name: string) =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${name}}\n`;
const CRDS = [file('crds/b.yaml', `---\n${crd('b.x')}---\n${crd('c.x')}`), file('crds/a.yaml', crd('a.x'))];

async function saved(name: string, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

describe('a package that is built', () => {
  test('is one that is read: the meta object first, the others by file, comments kept', async () => {
    const { image } = await buildPackage({ files: [...CRDS, META] });
    const opened = await openImageFile(await saved('plain.xpkg', imageFileBytes(image)));
    const stream = await bytesOf(packageStream(opened));
    const text = stream.toString();
    assert.match(text, /^---\n# my provider\napiVersion: meta/);
    assert.deepEqual(
      [...text.matchAll(/name: (\S+)\}/g)].map(([, name]) => name),
      ['p', 'a.x', 'b.x', 'c.x'],
    );
    async function* chunks() {
      yield stream;
    }
    assert.equal((await readPackage(chunks())).objects.length, 3);
    assert.equal(opened.digest, image.digest);
    const [layer] = opened.manifest.layers;
    assert.equal(layer?.annotations?.['io.crossplane.xpkg'], 'base');
    const { config } = await configOf(opened);
    assert.deepEqual(config, { Labels: { [`io.crossplane.xpkg:${layer?.digest}`]: 'base' } });
  });

  test('is the same bytes every time, in whatever order its files come', async () => {
    const once = await bytesOf(imageFileBytes((await buildPackage({ files: [META, ...CRDS] })).image));
    const again = await bytesOf(imageFileBytes((await buildPackage({ files: [...CRDS.toReversed(), META] })).image));
    assert.ok(once.equals(again));
  });

  test('has its examples in a layer of their own', async () => {
    const { image } = await buildPackage({ files: [META], examples: [file('e.yaml', 'kind: Example\n')] });
    const opened = await openImageFile(await saved('examples.xpkg', imageFileBytes(image)));
    assert.deepEqual(
      opened.manifest.layers.map(({ annotations }) => annotations?.['io.crossplane.xpkg']),
      ['base', 'upbound'],
    );
  });

  test('is checked by the rules of its type, and errors name file and line', async () => {
    await assert.rejects(
      buildPackage({ files: [META, file('s.yaml', '\n\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n')] }),
      /Secret "s" \(v1\) at s.yaml, line 1 is a kind/,
    );
    await assert.rejects(buildPackage({ files: CRDS }), /needs exactly one/);
    await assert.rejects(buildPackage({ files: [META, file('x.yaml', 'a: [')] }), /x.yaml, line 1 is not YAML/);
    await assert.rejects(
      buildPackage({ files: [META], examples: [file('e.yaml', 'a: [')] }),
      /e.yaml, line 1 is not YAML/,
    );
  });
});

const layerTar = await bytesOf(writeTar([tarFile('bin/provider', 'program')]));

interface FoundConfig {
  architecture: string;
  config: { Entrypoint: string[]; Labels: Record<string, string> };
  rootfs: { diff_ids: string[] };
  history: unknown[];
}

describe('a runtime', () => {
  const config = JSON.stringify({
    architecture: 'arm64',
    os: 'linux',
    config: { Entrypoint: ['/bin/provider'], Labels: { vendor: 'me' } },
    rootfs: { type: 'layers', diff_ids: [digestOf(layerTar)] },
    history: [{ created_by: 'make' }],
  });
  const dockerArchive = (layer: Buffer) =>
    writeTar([
      tarFile('manifest.json', JSON.stringify([{ Config: 'c.json', RepoTags: ['x:v1'], Layers: ['l/layer.tar'] }])),
      tarFile('c.json', config),
      tarFile('l/layer.tar', layer),
    ]);

  for (const [what, layer] of [
    ['plain layers', layerTar],
    ['compressed layers', gzipSync(layerTar)],
  ] as const)
    test(`a runtime from a docker archive with ${what} lies below the package, its configuration kept`, async () => {
      const runtime = await openImageFile(await saved('runtime.tar', await bytesOf(dockerArchive(layer))));
      const { image } = await buildPackage({ files: [META], runtime });
      const opened = await openImageFile(await saved('with.xpkg', imageFileBytes(image)));
      assert.equal(opened.manifest.layers.length, 2);
      const found = (await configOf(opened)) as unknown as FoundConfig;
      assert.equal(found.architecture, 'arm64');
      assert.deepEqual(found.config.Entrypoint, ['/bin/provider']);
      assert.equal(found.config.Labels['vendor'], 'me');
      assert.equal(found.rootfs.diff_ids[0], digestOf(layerTar));
      assert.equal(found.history.length, 2);
      assert.match((await bytesOf(packageStream(opened))).toString(), /name: p/);
      // The layers unpack to the declared content.
      const [first] = opened.manifest.layers;
      assert.ok(first !== undefined && first.mediaType.endsWith('+gzip'));
      const names: string[] = [];
      for await (const { name } of readTar(decompress(opened.blob(first)))) names.push(name);
      assert.deepEqual(names, ['bin/provider']);
    });

  test('a runtime from an OCI layout, compressed as a whole, is one too', async () => {
    const base = imageOf([await layerOf({ 'bin/x': 'y' })]);
    const blobs = [...base.blobs, [base.digest, base.body] as const];
    const layout = writeTar([
      tarFile('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
      tarFile(
        'index.json',
        JSON.stringify({
          schemaVersion: 2,
          manifests: [{ mediaType: base.manifest.mediaType, digest: base.digest, size: base.body.length }],
        }),
      ),
      ...blobs.map(([digest, bytes]) => tarFile(`./blobs/sha256/${digest.slice(7)}`, bytes)),
    ]);
    const runtime = await openImageFile(await saved('layout.tar.gz', gzipSync(await bytesOf(layout))));
    // The layers of the test image claim to unpack to themselves, so they are packed once more.
    const { image } = await buildPackage({ files: [META], runtime });
    assert.equal(image.layers.length, 2);
    await runtime.close();
  });

  test('a runtime that is none says what is missing', async () => {
    await assert.rejects(openImageFile(join(folder, 'absent')), /cannot read .*absent: ENOENT/);
    await assert.rejects(openImageFile(await saved('text', Buffer.from('hello'))), /truncated|archive/);
    await assert.rejects(
      openImageFile(await saved('empty.tar', await bytesOf(writeTar([tarFile('a', 'b')])))),
      /neither index.json nor manifest.json/,
    );
    const two = writeTar([tarFile('manifest.json', '[{},{}]')]);
    await assert.rejects(openImageFile(await saved('two.tar', await bytesOf(two))), /holds 2 images/);
    const lost = writeTar([tarFile('manifest.json', JSON.stringify([{ Config: 'c', Layers: [] }]))]);
    await assert.rejects(openImageFile(await saved('lost.tar', await bytesOf(lost))), /c is not in it/);
    const configuration = file(
      'crossplane.yaml',
      'apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\n',
    );
    const runtime = await openImageFile(await saved('r.tar', await bytesOf(dockerArchive(layerTar))));
    await assert.rejects(buildPackage({ files: [configuration], runtime }), /a Configuration has no runtime/);
  });
});
