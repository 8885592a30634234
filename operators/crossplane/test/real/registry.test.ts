// Packages in Debian's docker-registry: pushed by us and by skopeo, pulled by us, with TLS and passwords and without.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createRegistryClient, digestOf, type Keychain, parseReference, RegistryError } from '../../src/oci/index.ts';
import { tarFile, writeTar } from '../../src/xpkg/archive/tar-writer.ts';
import {
  createPackageCache,
  createPackageFetcher,
  openImageFile,
  remoteImage,
  xpkgCommand,
} from '../../src/xpkg/index.ts';
import { inspectImage } from '../../src/xpkg/inspect.ts';
import { type RealRegistry, skip, skipSkopeo, skopeo, startRealRegistry, USER } from './registry.ts';

const META = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-real}\n';
const CRD = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.x}\n';
async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
/** An image of one plain layer, as docker save writes it. */
function dockerArchive(layer: Buffer, architecture = 'amd64'): AsyncIterable<Buffer> {
  const rootfs = { type: 'layers', diff_ids: [digestOf(layer)] };
  return writeTar([
    tarFile('manifest.json', JSON.stringify([{ Config: 'c.json', RepoTags: ['x:v1'], Layers: ['l.tar'] }])),
    tarFile('c.json', JSON.stringify({ architecture, os: 'linux', rootfs })),
    tarFile('l.tar', layer),
  ]);
}
const user: Keychain = () => ({ type: 'basic', ...USER });

for (const [what, options] of [
  ['in the clear', { tls: false, password: false }],
  ['with TLS and passwords', { tls: true, password: true }],
] as const)
  describe(`a package in a real registry ${what}`, { skip }, () => {
    let registry: RealRegistry;
    let client: ReturnType<typeof createRegistryClient>;
    const home = mkdtempSync(join(tmpdir(), 'capstan-real-'));
    const keychain: Keychain = options.password ? user : () => undefined;
    before(async () => {
      registry = await startRealRegistry(options);
      client = createRegistryClient({ retries: 0, ...(options.tls && { caBundle: registry.ca }) });
      mkdirSync(join(home, 'package'));
      writeFileSync(join(home, 'package', 'crossplane.yaml'), META);
      writeFileSync(join(home, 'package', 'crd.yaml'), CRD);
      const auth = Buffer.from(`${USER.username}:${USER.password}`).toString('base64');
      writeFileSync(join(home, 'config.json'), JSON.stringify({ auths: { [registry.address]: { auth } } }));
      assert.equal((await xpkg('build', '-f', 'package', '-o', 'p.xpkg')).code, 0);
    });
    after(async () => {
      await client.close();
      await registry.stop();
      rmSync(home, { recursive: true });
    });

    async function xpkg(...argv: string[]) {
      let [stdout, stderr] = ['', ''];
      const code = await xpkgCommand(argv, {
        stdout: (text) => void (stdout += text),
        stderr: (text) => void (stderr += text),
        env: { DOCKER_CONFIG: home },
        cwd: home,
        signal: new AbortController().signal,
      });
      return { code, stdout, stderr };
    }
    const withCa = () => (options.tls ? ['--ca-bundle-path', registry.caPath] : []);

    test('is pushed by xpkg push, pulled with its digest checked, and comes from the cache then', async () => {
      const name = `${registry.address}/acme/ours:v1.0.0`;
      const pushed = await xpkg('push', '-f', 'p.xpkg', ...withCa(), name);
      assert.equal(pushed.code, 0, pushed.stderr);
      const reference = parseReference(name);
      const fetcher = createPackageFetcher({
        client,
        cache: createPackageCache(join(home, 'cache'), () => Date.now()),
      });
      const digest = await fetcher.resolve(reference, { keychain });
      assert.equal(pushed.stdout.trim(), `${name}@${digest}`);
      const { meta, objects } = await fetcher.fetch(reference, digest, { keychain });
      assert.deepEqual([meta.name, objects.length], ['provider-real', 1]);
      assert.equal((await fetcher.cached(digest))?.meta.name, 'provider-real');
      assert.deepEqual(await fetcher.tags(reference, { keychain }), ['v1.0.0']);
      const again = await xpkg('push', '-f', 'p.xpkg', ...withCa(), `${registry.address}/acme/ours:v1.1.0`);
      assert.equal(again.code, 0, again.stderr);
      assert.deepEqual(await fetcher.tags(reference, { keychain }), ['v1.0.0', 'v1.1.0']);
    });

    test('a package that is absent is not found, and unknown users are refused', async () => {
      const missing = parseReference(`${registry.address}/acme/none:v1`);
      const failure = async (ask: Promise<unknown>) => {
        const error: unknown = await ask.then(
          () => undefined,
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof RegistryError, String(error));
        return error.failure;
      };
      assert.equal(await failure(client.resolve(missing, { keychain })), 'not-found');
      assert.equal(await failure(client.tags(missing, { keychain })), 'not-found');
      if (!options.password) return;
      assert.equal(await failure(client.resolve(missing)), 'unauthorized');
      const wrong: Keychain = () => ({ type: 'basic', username: USER.username, password: 'wrong' });
      assert.equal(await failure(client.resolve(missing, { keychain: wrong })), 'unauthorized');
      const untrusting = createRegistryClient({ retries: 0 });
      assert.equal(await failure(untrusting.resolve(missing, { keychain })), 'tls');
      await untrusting.close();
    });

    test('a package for two platforms is one index, and the part for linux/amd64 is taken', async () => {
      const layer = await bytesOf(writeTar([tarFile('bin/x', 'program')]));
      for (const architecture of ['arm64', 'amd64']) {
        const archive = dockerArchive(layer, architecture);
        writeFileSync(join(home, 'image.tar'), await bytesOf(archive));
        const runtime = ['--embed-runtime-image-tarball', 'image.tar'];
        assert.equal((await xpkg('build', '-f', 'package', ...runtime, '-o', `${architecture}.xpkg`)).code, 0);
      }
      const name = `${registry.address}/acme/multi:v1`;
      const pushed = await xpkg('push', '-f', 'arm64.xpkg,amd64.xpkg', ...withCa(), name);
      assert.equal(pushed.code, 0, pushed.stderr);
      const reference = parseReference(name);
      const digest = await client.manifest(reference, { keychain }).then((raw) => raw.digest);
      assert.equal(pushed.stdout.trim(), `${name}@${digest}`);
      const { platform, digest: found } = await inspectImage(await remoteImage(client, reference, { keychain }));
      assert.deepEqual([platform, found], ['linux/amd64', digest]);
    });

    describe('by skopeo', { skip: skipSkopeo }, () => {
      const tlsFlags = (side: 'src' | 'dest') => [
        ...(options.tls ? [`--${side}-cert-dir`, certFolder()] : [`--${side}-tls-verify=false`]),
        ...(options.password ? [`--${side}-authfile`, join(home, 'config.json')] : []),
      ];
      // skopeo takes every *.crt in a folder for an authority.
      function certFolder(): string {
        const path = join(home, 'certs');
        mkdirSync(path, { recursive: true });
        writeFileSync(join(path, 'ca.crt'), registry.ca);
        return path;
      }
      const copy = (...args: string[]) => {
        const { status, stderr } = skopeo('copy', '--quiet', ...args);
        assert.equal(status, 0, stderr);
      };
      const inspected = async (name: string) =>
        inspectImage(await remoteImage(client, parseReference(`${registry.address}/${name}`), { keychain }));

      test('is pushed from our file as an OCI image and as a docker archive, and read by us', async () => {
        copy(...tlsFlags('dest'), `oci-archive:${join(home, 'p.xpkg')}`, `docker://${registry.address}/skopeo/oci:v1`);
        assert.deepEqual((await inspected('skopeo/oci:v1')).foundBy, 'annotation');
        copy(
          ...tlsFlags('dest'),
          `docker-archive:${join(home, 'p.xpkg')}`,
          `docker://${registry.address}/skopeo/docker:v1`,
        );
        const fromDocker = await inspected('skopeo/docker:v1');
        assert.equal(fromDocker.meta.name, 'provider-real');
      });

      test('loses its annotation in Docker’s format, and is found by its label or in the file system', async () => {
        copy(
          ...tlsFlags('dest'),
          '--format',
          'v2s2',
          `oci-archive:${join(home, 'p.xpkg')}`,
          `docker://${registry.address}/skopeo/v2s2:v1`,
        );
        const found = await inspected('skopeo/v2s2:v1');
        assert.notEqual(found.foundBy, 'annotation');
        assert.equal(found.meta.name, 'provider-real');
      });

      test('is copied to files that we read: an OCI layout and a docker archive', async () => {
        copy(...tlsFlags('dest'), `oci-archive:${join(home, 'p.xpkg')}`, `docker://${registry.address}/skopeo/back:v1`);
        for (const kind of ['oci-archive', 'docker-archive']) {
          const path = join(home, `${kind}.tar`);
          copy(...tlsFlags('src'), `docker://${registry.address}/skopeo/back:v1`, `${kind}:${path}:x:v1`);
          const image = await openImageFile(path);
          assert.equal((await inspectImage(image)).meta.name, 'provider-real');
          await image.close();
        }
      });

      test('a package with zstd layers is read too', async () => {
        // Plain layers: skopeo does not compress a compressed layer again, nor one that it remembers to have unpacked.
        const path = join(home, 'plain.tar');
        writeFileSync(path, await bytesOf(dockerArchive(await bytesOf(writeTar([tarFile('package.yaml', META)])))));
        const name = `${registry.address}/skopeo/zstd:v1`;
        copy(
          ...tlsFlags('dest'),
          '--format',
          'oci',
          '--dest-compress-format',
          'zstd',
          `docker-archive:${path}`,
          `docker://${name}`,
        );
        const image = await remoteImage(client, parseReference(name), { keychain });
        assert.match(image.manifest.layers[0]?.mediaType ?? '', /zstd$/);
        assert.equal((await inspectImage(image)).meta.name, 'provider-real');
      });
    });
  });
