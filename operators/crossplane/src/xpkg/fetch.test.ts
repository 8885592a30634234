import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createRegistryClient } from '../oci/client.ts';
import { digestOf } from '../oci/digest.ts';
import { OCI_INDEX, OCI_MANIFEST } from '../oci/media-types.ts';
import { parseReference } from '../oci/reference.ts';
import { startRegistry } from '../registry/index.ts';
import { CacheWriteError, createPackageCache } from './cache.ts';
import { PackageError } from './errors.ts';
import { createPackageFetcher } from './fetch.ts';
import { imageOf, layerOf, pushImage } from './image.test-support.ts';

const PACKAGE = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\n';
const seen: string[] = [];
const registry = await startRegistry({ onRequest: ({ method, path }) => void seen.push(`${method} ${path}`) });
const client = createRegistryClient({ retries: 0 });
const folder = mkdtempSync(join(tmpdir(), 'capstan-cache-'));
after(async () => {
  await client.close();
  await registry.close();
  rmSync(folder, { recursive: true });
});

const image = imageOf([await layerOf({ 'package.yaml': PACKAGE }, { annotated: true })]);
const reference = parseReference(`${registry.address}/acme/p:v1`);
const digest = await pushImage(client, `${registry.address}/acme/p:v1`, image);
const now = () => Date.now();
async function* chunks(text = PACKAGE) {
  yield Buffer.from(text);
}

describe('a package', () => {
  test('is pulled once and comes from the cache afterwards, after a restart too', async () => {
    const cache = createPackageCache(join(folder, 'one'), now);
    const fetcher = createPackageFetcher({ client, cache });
    assert.equal(await fetcher.resolve(reference), digest);
    assert.equal(await fetcher.cached(digest), undefined);
    assert.equal((await fetcher.fetch(reference, digest)).meta.name, 'p');
    seen.length = 0;
    assert.equal((await fetcher.fetch(reference, digest)).meta.name, 'p');
    const restarted = createPackageFetcher({ client, cache: createPackageCache(join(folder, 'one'), now) });
    assert.equal((await restarted.fetch(reference, digest)).meta.name, 'p');
    assert.deepEqual(seen, []);
    await fetcher.forget(digest);
    assert.equal(await restarted.cached(digest), undefined);
    assert.deepEqual(await fetcher.tags(reference), ['v1']);
  });

  test('is pulled by its digest, so that a tag that moves meanwhile changes nothing', async () => {
    const fetcher = createPackageFetcher({ client });
    seen.length = 0;
    await fetcher.fetch(reference, digest);
    assert.ok(seen.some((line) => line.endsWith(`/manifests/${digest}`)));
    assert.ok(!seen.some((line) => line.endsWith('/manifests/v1')));
  });

  test('a package in an index is that of linux/amd64, and the digest is that of the index', async () => {
    const arm = imageOf([
      await layerOf({ 'package.yaml': PACKAGE.replace('name: p', 'name: arm') }, { annotated: true }),
    ]);
    const target = `${registry.address}/acme/multi`;
    await pushImage(client, `${target}@${arm.digest}`, arm);
    await pushImage(client, `${target}@${image.digest}`, image);
    const entry = ({ digest: each, body }: typeof arm, architecture: string) => ({
      mediaType: OCI_MANIFEST,
      digest: each,
      size: body.length,
      platform: { os: 'linux', architecture },
    });
    const index = { schemaVersion: 2, mediaType: OCI_INDEX, manifests: [entry(arm, 'arm64'), entry(image, 'amd64')] };
    const body = Buffer.from(JSON.stringify(index));
    const tagged = parseReference(`${target}:v1`);
    await client.pushManifest(tagged, { mediaType: OCI_INDEX, body });
    const fetcher = createPackageFetcher({ client });
    const found = await fetcher.resolve(tagged);
    assert.equal(found, digestOf(body));
    assert.equal((await fetcher.fetch(tagged, found)).meta.name, 'p');
  });

  test('a package that cannot be kept is installed all the same', async () => {
    writeFileSync(join(folder, 'file'), '');
    const warnings: string[] = [];
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (text: string) => void warnings.push(text),
      with: () => logger,
    };
    const fetcher = createPackageFetcher({
      client,
      cache: createPackageCache(join(folder, 'file', 'sub'), now),
      logger,
    });
    assert.equal((await fetcher.fetch(reference, digest)).meta.name, 'p');
    assert.equal(warnings.length, 1);
  });

  test('a package that is not one leaves nothing in the cache', async () => {
    const bad = imageOf([await layerOf({ other: 'x' }, { annotated: true })]);
    const name = `${registry.address}/acme/bad:v1`;
    await pushImage(client, name, bad);
    const cache = join(folder, 'bad');
    const fetcher = createPackageFetcher({ client, cache: createPackageCache(cache, now) });
    await assert.rejects(fetcher.fetch(parseReference(name), bad.digest), /has no package.yaml/);
    assert.deepEqual(readdirSync(cache), []);
  });
});

describe('a large package', () => {
  const fields = Array.from(
    { length: 4000 },
    (_, i) => `  field${i}: {type: string, description: "about ${i}"}\n`,
  ).join('');
  const crd = (name: string) =>
    `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${name}}\nspec:\n${fields}`;
  const push = async (name: string, text: string) => {
    const large = imageOf([await layerOf({ 'package.yaml': text }, { annotated: true })]);
    await pushImage(client, `${registry.address}/acme/${name}:v1`, large);
    return [parseReference(`${registry.address}/acme/${name}:v1`), large.digest] as const;
  };

  test('is parsed in a thread of its own, and is the same from the cache', async () => {
    const [large, found] = await push('large', `${PACKAGE}---\n${crd('a.x')}---\n${crd('b.x')}`);
    const fetcher = createPackageFetcher({ client, cache: createPackageCache(join(folder, 'large'), now) });
    const pulled = await fetcher.fetch(large, found);
    const [first] = pulled.objects;
    assert.equal(Object.keys(first?.['spec'] as object).length, 4000);
    assert.deepEqual(await fetcher.cached(found), pulled);
    assert.deepEqual(await createPackageFetcher({ client }).fetch(large, found), pulled);
  });

  test('a large package with a mistake in it says where, as a small one does', async () => {
    const [large, found] = await push('mistaken', `${PACKAGE}---\n${crd('a.x')}  - x\n`);
    await assert.rejects(createPackageFetcher({ client }).fetch(large, found), (error: unknown) => {
      assert.ok(error instanceof PackageError, String(error));
      assert.match(
        error.message,
        /^package.yaml, line 4 is not YAML: .*; correct the file and build the package again$/,
      );
      return true;
    });
  });
});

describe('the cache', () => {
  const damage: [what: string, change: (bytes: Buffer) => Buffer][] = [
    ['cut short', (bytes) => bytes.subarray(0, -3)],
    ['without its content', (bytes) => bytes.subarray(0, 1024)],
    ['empty', () => Buffer.alloc(0)],
    [
      'with a bit flipped',
      (bytes) => {
        bytes[bytes.length - 12] = (bytes.at(-12) ?? 0) ^ 1;
        return bytes;
      },
    ],
    ['longer than it was', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
    ['of another digest', (bytes) => Buffer.from(bytes.toString('latin1').replace(digest, digestOf('x')), 'latin1')],
    ['something else', () => Buffer.from('{"format":1}')],
  ];
  for (const [what, change] of damage)
    test(`ignores an entry that is ${what}, and downloads it again`, async () => {
      const place = join(folder, 'damaged');
      const cache = createPackageCache(place, now);
      await cache.store(digest, chunks());
      const path = join(place, readdirSync(place)[0] ?? '');
      writeFileSync(path, change(readFileSync(path)));
      assert.equal(await cache.open(digest), undefined);
      assert.deepEqual(readdirSync(place), []);
      const fetcher = createPackageFetcher({ client, cache });
      await fetcher.fetch(reference, digest);
      assert.equal((await fetcher.cached(digest))?.meta.name, 'p');
    });

  test('keeps what is in use, and drops what was unused for a month and what dead processes left', async () => {
    const place = join(folder, 'gc');
    let time = 1_800_000_000_000;
    const day = 24 * 60 * 60 * 1000;
    const before = createPackageCache(place, () => time);
    const [unused, read, later] = [digestOf('unused'), digestOf('read'), digestOf('later')];
    for (const each of [digest, unused, read]) await before.store(each, chunks());
    await before.remember('r.example/p:v1', digest);
    await before.remember('r.example/p:v0', unused);
    for (const name of ['.old.tmp', '.new.tmp', 'not ours']) writeFileSync(join(place, name), '');
    const age = (name: string, ms: number) => utimesSync(join(place, name), (time - ms) / 1000, (time - ms) / 1000);
    age('not ours', 100 * day);
    time += 31 * day;
    age('.old.tmp', 2 * day);
    age('.new.tmp', 10_000);
    const cache = createPackageCache(place, () => time);
    assert.notEqual(await cache.open(digest), undefined);
    assert.equal(await cache.recall('r.example/p:v1'), digest);
    await cache.store(later, chunks());
    assert.equal(await cache.recall('r.example/p:v0'), undefined);
    const files = [`${digest.slice(7)}.xpkg`, `${later.slice(7)}.xpkg`, '.new.tmp', 'not ours'];
    const names = readdirSync(place);
    assert.deepEqual(names.filter((name) => !name.endsWith('.name')).toSorted(), files.toSorted());
    assert.equal(names.length, files.length + 1);
    // An entry that this process passed out is in use as long as the process runs, however long ago that was.
    time += 40 * day;
    await cache.store(read, chunks());
    assert.ok(readdirSync(place).includes(`${digest.slice(7)}.xpkg`));
  });

  test('distinguishes the failure of a source from that of the disk, and leaves no partial entry', async () => {
    const place = join(folder, 'failing');
    async function* failing() {
      yield Buffer.from('a');
      throw new Error('wrong digest');
    }
    await assert.rejects(createPackageCache(place, now).store(digest, failing()), /^Error: wrong digest$/);
    assert.deepEqual(readdirSync(place), []);
    await assert.rejects(createPackageCache(join(folder, 'file', 'x'), now).store(digest, chunks()), CacheWriteError);
  });

  test('is not led out of its folder by what is no digest', async () => {
    const cache = createPackageCache(join(folder, 'safe'), now);
    for (const bad of ['../../x', 'sha256:../../../x', '', 'sha256:ABC'])
      await assert.rejects(async () => cache.open(bad), /is not a digest/);
  });
});
