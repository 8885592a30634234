import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { createCa, issueCertificate, systemClock } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type RegistryOptions, startRegistry } from '../registry/index.ts';
import { createRegistryClient, type RegistryClient } from './client.ts';
import { digestOf } from './digest.ts';
import { RegistryError } from './errors.ts';
import { type Keychain } from './keychain.ts';
import { choosePlatform, parseManifest } from './manifest.ts';
import { OCI_MANIFEST } from './media-types.ts';
import { parseReference } from './reference.ts';
import type { TransportOptions } from './transport.ts';

const ends: (() => Promise<unknown>)[] = [];
after(() => Promise.all(ends.map((end) => end())));

function clientWith(options: TransportOptions = {}): RegistryClient {
  const client = createRegistryClient({ retries: 0, ...options });
  ends.push(() => client.close());
  return client;
}

async function registryWith(options: RegistryOptions = {}) {
  const seen: { method: string; path: string; authorization: string | undefined }[] = [];
  const registry = await startRegistry({ ...options, onRequest: (request) => void seen.push(request) });
  ends.push(() => registry.close());
  return { ...registry, seen };
}

/** A server that answers with the given listener. */
async function server(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', () => resolve()));
  ends.push(async () => {
    http.closeAllConnections();
    http.close();
  });
  return `127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const user: Keychain = () => ({ type: 'basic', username: 'me', password: 'open sesame' });
const foreign: Keychain = () => ({ type: 'basic', username: 'me', password: 'wrong' });
const USERS = { me: 'open sesame' };

async function bytes(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

const content = Buffer.from('some content');
const blob = { digest: digestOf(content), size: content.length };

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

const fails = (failure: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof RegistryError, String(error));
  assert.equal(error.failure, failure, error.message);
  if (message !== undefined) assert.match(error.message, message);
  assert.doesNotMatch(error.message, /sesame/);
  return true;
};

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

describe('a registry that does not behave', () => {
  const reference = (address: string) => parseReference(`${address}/a:v1`);

  test('a registry that sends other bytes than asked for is found out: manifest, digest and size of a blob', async () => {
    const address = await server((request, response) => {
      if (request.url?.includes('/manifests/')) response.setHeader('docker-content-digest', digestOf('other'));
      response.end('{"schemaVersion":2}');
    });
    const client = clientWith();
    await assert.rejects(client.manifest(reference(address)), fails('wrong-digest', /other bytes than were asked for/));
    const byDigest = parseReference(`${address}/a@${digestOf('x')}`);
    await assert.rejects(client.manifest(byDigest), fails('wrong-digest'));
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 19 })),
      fails('wrong-digest', /wrong digest/),
    );
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 5 })),
      fails('wrong-digest', /more than 5 bytes/),
    );
    await assert.rejects(
      bytes(client.blob(byDigest, { digest: digestOf('x'), size: 50 })),
      fails('wrong-digest', /sent \d+ bytes, and its manifest has 50/),
    );
  });

  test('a registry that does not do HEAD, or states no digest there, is asked by GET', async () => {
    for (const status of [405, 404, 200]) {
      const address = await server((request, response) => {
        if (request.method === 'HEAD') response.writeHead(status);
        response.end(request.method === 'HEAD' ? undefined : 'manifest');
      });
      assert.deepEqual(await clientWith().resolve(reference(address)), { digest: digestOf('manifest') });
    }
  });

  test('a registry that sends its blobs elsewhere does not get our password sent there', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = await server((request, response) => {
      seen.push(request.headers.authorization);
      response.end(content);
    });
    const address = await server((request, response) => {
      if (request.headers.authorization === undefined)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      else if (request.url?.startsWith('/here') === true) {
        seen.push(request.headers.authorization);
        response.writeHead(307, { location: `http://${elsewhere}/there` }).end();
      } else response.writeHead(307, { location: '/here' }).end();
    });
    assert.ok((await bytes(clientWith().blob(reference(address), blob, { keychain: user }))).equals(content));
    assert.match(seen[0] ?? '', /^Basic /);
    assert.deepEqual(seen.slice(1), [undefined]);
  });

  test('a registry that redirects without end, or to where nothing is, is left', async () => {
    const address = await server((_, response) => response.writeHead(302, { location: '/again' }).end());
    await assert.rejects(clientWith().manifest(reference(address)), fails('malformed', /redirects without end/));
    const odd = await server((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    await assert.rejects(clientWith().manifest(reference(odd)), fails('malformed', /no secure connection leads/));
  });

  test('a registry that asks for a pause is waited for when it is short, and reported when it is long', async () => {
    let calls = 0;
    let pause = '2';
    const address = await server((request, response) => {
      if (request.url === '/v2/') response.end();
      else if (++calls === 1)
        response.writeHead(429, { 'retry-after': pause }).end('{"errors":[{"code":"TOOMANYREQUESTS"}]}');
      else response.end('manifest');
    });
    const clock = createVirtualClock();
    const asked = clientWith({ retries: 2, clock }).manifest(reference(address));
    while (clock.pendingTimers === 0) await systemClock.yield();
    await clock.advance(1999);
    assert.equal(calls, 1);
    await clock.advance(201);
    await asked;
    assert.equal(calls, 2);
    calls = 0;
    pause = '600';
    await assert.rejects(clientWith({ retries: 2 }).manifest(reference(address)), (error: unknown) => {
      assert.ok(fails('too-many-requests', /come back in 600 s/)(error));
      assert.ok(error instanceof RegistryError && error.isTemporary && error.retryAfterMs === 600_000);
      return true;
    });
  });

  test('a registry that is down is asked again a few times and then given up', async () => {
    let calls = 0;
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      calls++;
      response.writeHead(503).end();
    });
    const clock = { ...systemClock, after: (_: number, call: () => void) => systemClock.after(0, call) };
    await assert.rejects(
      clientWith({ retries: 2, clock }).manifest(reference(address)),
      fails('unavailable', /answered 503/),
    );
    assert.equal(calls, 3);
    await assert.rejects(
      clientWith().manifest(parseReference('127.0.0.1:1/a:v1')),
      fails('unavailable', /ECONNREFUSED/),
    );
  });

  test('a silent registry is not waited for without end, and an abort is honoured', async () => {
    const address = await server((request, response) => {
      if (request.url === '/v2/') response.end();
    });
    await assert.rejects(
      clientWith({ idleTimeoutMs: 50 }).manifest(reference(address)),
      fails('timeout', /nothing came/),
    );
    const stopping = new AbortController();
    const asked = clientWith().manifest(reference(address), { signal: stopping.signal });
    stopping.abort(new Error('stop now'));
    await assert.rejects(asked, /stop now/);
  });

  test('a registry that does not answer is asked once, and reported at once: also in the middle of a blob', async () => {
    const asked: string[] = [];
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      asked.push(`${request.method} ${request.url?.split('/')[3]} ${request.headers.range ?? ''}`.trim());
      if (request.url?.includes('/blobs/') === true) response.writeHead(200, { 'content-length': 100 }).write('x');
    });
    const client = clientWith({ idleTimeoutMs: 50, retries: 3 });
    await assert.rejects(client.manifest(reference(address)), fails('timeout', /nothing came/));
    const descriptor = { digest: digestOf('y'), size: 100 };
    await assert.rejects(bytes(client.blob(reference(address), descriptor)), fails('timeout', /nothing came/));
    assert.deepEqual(asked, ['GET manifests', 'GET blobs', 'GET blobs bytes=1-']);
  });

  test('a registry that wants a log-in for one repository is asked for another one without, when there is none', async () => {
    const address: string = await server((request, response) => {
      if (request.url?.startsWith('/token') === true) return void response.writeHead(401).end();
      if (request.url?.startsWith('/v2/private/') === true)
        return void response
          .writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` })
          .end();
      response.end('manifest');
    });
    const client = clientWith();
    await assert.rejects(client.manifest(parseReference(`${address}/private/a:v1`)), fails('unauthorized'));
    assert.equal((await client.manifest(parseReference(`${address}/public/a:v1`))).body.toString(), 'manifest');
  });

  test('a registry whose connection breaks in the middle of a blob is resumed there, with ranges or without', async () => {
    const large = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    for (const doesRanges of [true, false]) {
      let calls = 0;
      const address = await server((request, response) => {
        if (request.url === '/v2/') return void response.end();
        const from = doesRanges ? Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
        response.writeHead(from > 0 ? 206 : 200, { 'content-length': large.length - from });
        if (++calls < 3) response.write(large.subarray(from, from + 100_000), () => response.destroy());
        else response.end(large.subarray(from));
      });
      const descriptor = { digest: digestOf(large), size: large.length };
      assert.ok((await bytes(clientWith().blob(reference(address), descriptor))).equals(large));
      assert.equal(calls, 3);
    }
  });

  test('a registry that sends manifests or token answers without end is left', async () => {
    const address = await server((request, response) => {
      if (request.url === '/v2/') return void response.end();
      response.end(Buffer.alloc(5 * 1024 * 1024));
    });
    await assert.rejects(clientWith().manifest(reference(address)), fails('too-large'));
  });

  test('a registry that answers with a bad token, or none, is distinguished from a wrong password', async () => {
    for (const [answer, failure] of [
      [(response: Parameters<RequestListener>[1]) => response.end('{}'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.end('no json'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.end('{"token":"a\\nb"}'), 'malformed'],
      [(response: Parameters<RequestListener>[1]) => response.writeHead(401).end(), 'unauthorized'],
      [(response: Parameters<RequestListener>[1]) => response.writeHead(502).end(), 'unavailable'],
    ] as const) {
      const address: string = await server((request, response) => {
        if (request.url?.startsWith('/token') === true) return void answer(response);
        response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` }).end();
      });
      await assert.rejects(clientWith().manifest(reference(address), { keychain: user }), fails(failure));
    }
  });

  test('a registry with an identity token is asked by form, and the access token is used', async () => {
    let form = '';
    const address: string = await server((request, response) => {
      if (request.url?.startsWith('/token') === true) {
        request.on('data', (chunk: Buffer) => {
          form += chunk.toString();
        });
        request.on('end', () => response.end('{"access_token":"given","expires_in":60}'));
      } else if (request.headers.authorization === 'Bearer given') response.end('manifest');
      else response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${address}/token",service="s"` }).end();
    });
    await clientWith().manifest(reference(address), { keychain: () => ({ type: 'identity', token: 'mine' }) });
    const fields = new URLSearchParams(form);
    assert.deepEqual(
      [fields.get('grant_type'), fields.get('refresh_token'), fields.get('scope')],
      ['refresh_token', 'mine', 'repository:a:pull'],
    );
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
