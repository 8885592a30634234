import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { RegistryError } from '../oci/errors.ts';
import { tarFile, writeTar } from './archive/tar-writer.ts';
import { PackageError } from './errors.ts';
import { bytesOf, imageOf, layerOf, type TestLayer } from './image.test-support.ts';
import { packageStream, type StreamLimits } from './package-stream.ts';

const streamOf = async (layers: readonly TestLayer[], limits?: StreamLimits) =>
  (await bytesOf(packageStream(imageOf(layers), limits))).toString();

const junk = await layerOf({ 'usr/bin/provider': 'x'.repeat(10_000), 'deep/package.yaml': 'not this' });
const here = { 'package.yaml': 'here' };

describe('the package in an image', () => {
  test('is in the layer with the annotation, whatever the others hold', async () => {
    const other = await layerOf({ 'package.yaml': 'other' }, { labelled: true });
    assert.equal(await streamOf([junk, await layerOf(here, { annotated: true }), other]), 'here');
  });

  test('is in the layer that a label names, when no annotation survived', async () => {
    assert.equal(
      await streamOf([junk, await layerOf(here, { labelled: true }), await layerOf({ 'package.yaml': 'other' })]),
      'here',
    );
  });

  test('is in the file system of the image otherwise, the top layer first', async () => {
    assert.equal(await streamOf([await layerOf({ 'package.yaml': 'below' }), await layerOf(here), junk]), 'here');
  });

  for (const whiteout of ['.wh.package.yaml', '.wh..wh..opq'])
    test(`is gone when a layer above deleted it (${whiteout})`, async () => {
      await assert.rejects(
        streamOf([await layerOf(here), await layerOf({ [whiteout]: '' })]),
        /is not a package: it has no package.yaml/,
      );
    });

  test('is not a package.yaml in some folder', async () => {
    await assert.rejects(streamOf([junk]), /it has no package.yaml/);
    await assert.rejects(
      streamOf([await layerOf({ 'a/package.yaml': 'x' }, { annotated: true })]),
      /package layer of test image is not a package/,
    );
    await assert.rejects(streamOf([]), /it has no package.yaml/);
  });

  test('is found as ./package.yaml and /package.yaml too', async () => {
    for (const name of ['./package.yaml', '/package.yaml'])
      assert.equal(await streamOf([await layerOf({ [name]: 'here' }, { annotated: true })]), 'here');
  });

  test('may be plain or zstd, whatever the manifest calls it', async () => {
    const archive = await bytesOf(writeTar([tarFile('package.yaml', 'here')]));
    for (const bytes of [archive, zstdCompressSync(archive), gzipSync(archive)])
      assert.equal(await streamOf([{ bytes, annotated: true }]), 'here');
  });

  test('is one: two marked layers are refused', async () => {
    const other = await layerOf({ 'package.yaml': 'other' }, { annotated: true });
    await assert.rejects(streamOf([await layerOf(here, { annotated: true }), other]), /marks 2 layers/);
    const same = await layerOf(here, { annotated: true });
    assert.equal(await streamOf([same, same]), 'here');
  });
});

describe('an image that means harm', () => {
  const link = Buffer.alloc(512);
  link.write('package.yaml');
  link.write('2', 156);
  link.write('/etc/passwd', 157);
  link.write('ustar\x0000', 257);
  link.fill(' ', 148, 156);
  link.write(
    `${link
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );

  test('an image that means harm with a link in place of the package is refused', async () => {
    await assert.rejects(streamOf([{ bytes: gzipSync(link), annotated: true }]), /not a file but a symlink/);
  });

  test('an image that means harm with a name that climbs, a truncated layer or the package twice is refused', async () => {
    const climbing = await layerOf({ '../../package.yaml': 'x' }, { annotated: true });
    await assert.rejects(streamOf([climbing]), /climbs out/);
    const whole = await layerOf(here, { annotated: true });
    await assert.rejects(streamOf([{ ...whole, bytes: whole.bytes.subarray(0, -10) }]), /truncated/);
    const twice = await bytesOf(writeTar([tarFile('package.yaml', 'a'), tarFile('./package.yaml', 'b')]));
    await assert.rejects(streamOf([{ bytes: gzipSync(twice), annotated: true }]), /package.yaml twice/);
  });

  test('an image that means harm with a bomb is given up, as a file and as a layer', async () => {
    const bomb = gzipSync(await bytesOf(writeTar([tarFile('zeros', Buffer.alloc(120 * 1024 * 1024))])));
    await assert.rejects(streamOf([{ bytes: bomb, annotated: true }]), /unpack to more than/);
    const large = await layerOf({ 'package.yaml': 'x'.repeat(5000) }, { annotated: true });
    await assert.rejects(streamOf([large], { maxPackageBytes: 1000 }), (error) => error instanceof PackageError);
  });

  test('an image whose bytes are not those of its digest is found out before anybody uses them', async () => {
    const image = imageOf([await layerOf(here, { annotated: true })]);
    const [layer] = image.manifest.layers;
    assert.ok(layer !== undefined);
    const other = (await layerOf({ 'package.yaml': 'evil' }, {})).bytes;
    const swapped = { ...image, manifest: { ...image.manifest, layers: [{ ...layer, size: other.length }] } };
    (image.blobs as Map<string, Buffer>).set(layer.digest, other);
    await assert.rejects(bytesOf(packageStream(swapped)), (error: unknown) => {
      assert.ok(error instanceof RegistryError && error.failure === 'wrong-digest', String(error));
      return true;
    });
  });
});
