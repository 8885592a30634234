import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCa, issueCertificate, systemClock } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type RegistryOptions, startRegistry } from '../registry/index.ts';
import { blob, bytes, clientWith, content, ends, fails, user } from './client.test-support.ts';
import { type RegistryClient } from './client.ts';
import { digestOf } from './digest.ts';
import { RegistryError } from './errors.ts';
import { type Keychain } from './keychain.ts';
import { choosePlatform, parseManifest } from './manifest.ts';
import { OCI_MANIFEST } from './media-types.ts';
import { parseReference } from './reference.ts';

async function registryWith(options: RegistryOptions = {}) {
  const seen: { method: string; path: string; authorization: string | undefined }[] = [];
  const registry = await startRegistry({ ...options, onRequest: (request) => void seen.push(request) });
  ends.push(() => registry.close());
  return { ...registry, seen };
}

const foreign: Keychain = () => ({ type: 'basic', username: 'me', password: 'wrong' });

const USERS = { me: 'open sesame' };

async function push(client: RegistryClient, name: string, keychain?: Keychain): Promise<string> {
  const reference = parseReference(name);
  const ask = keychain === undefined ? {} : { keychain };
  await client.pushBlob(
    reference,
    {
      ...blob,
      open: async function* () {
        yield content;
      },
    },
    ask,
  );
  const descriptor = { mediaType: 'application/octet-stream', ...blob };
  const body = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config: descriptor, layers: [descriptor] }),
  );
  return client.pushManifest(reference, { mediaType: OCI_MANIFEST, body }, ask);
}

describe('a registry', () => {
  test('gives back what was pushed to it, by tag and by digest', async () => {
    const { address, seen } = await registryWith();
    const client = clientWith();
    const digest = await push(client, `${address}/a/b:v1`);
    const reference = parseReference(`${address}/a/b:v1`);
    assert.deepEqual(await client.resolve(reference), { digest });
    assert.equal((await client.manifest(reference)).digest, digest);
    assert.equal((await client.manifest(parseReference(`${address}/a/b@${digest}`))).mediaType, OCI_MANIFEST);
    assert.ok((await bytes(client.blob(reference, blob))).equals(content));
    assert.deepEqual(await client.tags(reference), ['v1']);
    // A blob that is there is not sent again, and one of another repository is linked.
    seen.length = 0;
    assert.equal(await client.pushBlob(reference, { ...blob, open: () => assert.fail('sent again') }), false);
    const other = parseReference(`${address}/other:v1`);
    const linked = { ...blob, mountFrom: 'a/b', open: () => assert.fail('sent again') };
    assert.equal(await client.pushBlob(other, linked), false);
    assert.equal(await client.hasBlob(other, blob.digest), true);
  });

  test('a registry that lacks the requested object is reported, with the name', async () => {
    const { address } = await registryWith();
    const client = clientWith();
    await push(client, `${address}/a:v1`);
    await assert.rejects(client.resolve(parseReference(`${address}/a:v2`)), fails('not-found', /a:v2 was not found/));
    await assert.rejects(client.manifest(parseReference(`${address}/none:v1`)), fails('not-found'));
    await assert.rejects(client.tags(parseReference(`${address}/none`)), fails('not-found', /tags of/));
    const missing = { digest: digestOf('x'), size: 1 };
    await assert.rejects(bytes(client.blob(parseReference(`${address}/a`), missing)), fails('not-found'));
  });

  test('lists its tags over several pages', async () => {
    const { address } = await registryWith({ tagPage: 2 });
    const client = clientWith();
    for (const tag of ['v1', 'v2', 'v3', 'v4', 'v5']) await push(client, `${address}/a:${tag}`);
    assert.deepEqual(await client.tags(parseReference(`${address}/a`)), ['v1', 'v2', 'v3', 'v4', 'v5']);
  });

  for (const type of ['basic', 'token'] as const) {
    test(`a registry with ${type} access lets only known users in, and shows no password`, async () => {
      const { address, seen } = await registryWith({ access: { type, users: USERS } });
      const reference = parseReference(`${address}/a:v1`);
      const digest = await push(clientWith(), `${address}/a:v1`, user);
      const client = clientWith();
      assert.deepEqual(await client.resolve(reference, { keychain: user }), { digest });
      await assert.rejects(
        client.resolve(reference, { keychain: foreign }),
        fails('unauthorized', /credentials were refused/),
      );
      await assert.rejects(
        client.resolve(reference),
        fails('unauthorized', /no credentials for this registry\); name a pull secret/),
      );
      // Once the challenge is known, the answer is sent with the first request.
      seen.length = 0;
      await bytes(client.blob(reference, blob, { keychain: user }));
      assert.equal(seen.length, 1);
      assert.match(seen[0]?.authorization ?? '', type === 'basic' ? /^Basic / : /^Bearer /);
    });

    test(`a registry with ${type} access and free reading needs no user for it, but one for writing`, async () => {
      const { address } = await registryWith({ access: { type, users: USERS, anonymousPull: true } });
      const digest = await push(clientWith(), `${address}/a:v1`, user);
      assert.deepEqual(await clientWith().resolve(parseReference(`${address}/a:v1`)), { digest });
      await assert.rejects(push(clientWith(), `${address}/b:v1`), RegistryError);
    });
  }

  test('a registry whose token ran out, or was refused before its time, gets a new one', async () => {
    const clock = createVirtualClock();
    const { address, seen } = await registryWith({ access: { type: 'token', users: USERS, lifeMs: 60_000 }, clock });
    const reference = parseReference(`${address}/a:v1`);
    const client = clientWith({ clock });
    await push(client, `${address}/a:v1`, user);
    await client.resolve(reference, { keychain: user });
    const tokensAsked = () => seen.filter(({ path }) => path.startsWith('/token')).length;
    const before = tokensAsked();
    await client.resolve(reference, { keychain: user });
    assert.equal(tokensAsked(), before);
    await clock.advance(55_000);
    await client.resolve(reference, { keychain: user });
    assert.equal(tokensAsked(), before + 1, 'renewed before it runs out');
    // One whose clock stands still learns from the refusal.
    const late = clientWith({ clock: { ...systemClock, now: () => 0 } });
    await late.resolve(reference, { keychain: user });
    await clock.advance(61_000);
    await late.resolve(reference, { keychain: user });
  });

  test('behind TLS is trusted with its authority and not without', async () => {
    const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
    const ca = await createCa({ commonName: 'test ca', ...validity });
    const own = { ca, commonName: 'registry', ipAddresses: ['127.0.0.1'], usages: ['server'] as const, ...validity };
    const { certificate: cert, key } = await issueCertificate(own);
    const { address } = await registryWith({ tls: { cert, key } });
    const reference = parseReference(`${address}/a:v1`);
    const trusting = clientWith({ caBundle: ca.certificate });
    const digest = await push(trusting, `${address}/a:v1`);
    assert.deepEqual(await trusting.resolve(reference), { digest });
    assert.deepEqual(await clientWith({ skipTlsVerify: true }).resolve(reference), { digest });
    await assert.rejects(clientWith().resolve(reference), fails('tls', /no secure connection .*--ca-bundle-path/));
  });
});

describe('a manifest', () => {
  const d = (name: string) => ({ mediaType: 'm', digest: digestOf(name), size: 1 });
  const raw = (value: unknown) => ({ digest: '', mediaType: OCI_MANIFEST, body: Buffer.from(JSON.stringify(value)) });

  test('a manifest of an index is that of the only platform, of linux/amd64, or of any that is real', () => {
    const on = (os: string, architecture: string) => ({ ...d(os + architecture), platform: { os, architecture } });
    const choose = (...manifests: ReturnType<typeof on>[]) => choosePlatform({ schemaVersion: 2, manifests })?.platform;
    assert.deepEqual(choose(on('linux', 'arm64')), { os: 'linux', architecture: 'arm64' });
    assert.deepEqual(choose(on('linux', 'arm64'), on('linux', 'amd64')), { os: 'linux', architecture: 'amd64' });
    assert.deepEqual(choose(on('unknown', 'unknown'), on('linux', 's390x')), { os: 'linux', architecture: 's390x' });
    assert.equal(choose(), undefined);
  });

  for (const [what, value, problem] of [
    ['no JSON', undefined, /not JSON/],
    ['an old schema', { schemaVersion: 1 }, /schema version 1/],
    ['no layers', { schemaVersion: 2, config: d('c') }, /lists nothing/],
    ['no config', { schemaVersion: 2, layers: [] }, /something else than a sha256/],
    [
      'another digest',
      { schemaVersion: 2, config: { digest: 'md5:1', size: 1 }, layers: [] },
      /something else than a sha256/,
    ],
    [
      'a digest that climbs',
      { schemaVersion: 2, config: d('c'), layers: [{ digest: 'sha256:../../x', size: 1 }] },
      /sha256/,
    ],
    ['no size', { schemaVersion: 2, config: d('c'), layers: [{ digest: digestOf('x'), size: -1 }] }, /has no size/],
    [
      'layers without end',
      { schemaVersion: 2, config: d('c'), layers: Array.from({ length: 257 }, () => d('x')) },
      /257 layers/,
    ],
  ] as const)
    test(`a manifest with ${what} is refused`, () => {
      assert.throws(
        () => parseManifest(value === undefined ? { ...raw(0), body: Buffer.from('<html>') } : raw(value), 'x'),
        problem,
      );
    });
});
