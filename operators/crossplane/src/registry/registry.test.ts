import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { request } from 'undici';
import { digestOf } from '../oci/digest.ts';
import { createFolderStore, createMemoryStore, type RegistryOptions, startRegistry } from './index.ts';

const root = mkdtempSync(join(tmpdir(), 'capstan-registry-'));
const ends: (() => Promise<unknown>)[] = [];
after(async () => {
  await Promise.all(ends.map((end) => end()));
  rmSync(root, { recursive: true });
});

async function started(options: RegistryOptions = {}): Promise<string> {
  const registry = await startRegistry(options);
  ends.push(() => registry.close());
  return `http://${registry.address}`;
}

type Method = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
async function call(url: string, method: Method = 'GET', body?: string, headers: Record<string, string> = {}) {
  const response = await request(url, { method, headers, ...(body !== undefined && { body }) });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
}

const text = 'hello, layers';
const digest = digestOf(text);

for (const [name, store] of [
  ['in memory', async () => createMemoryStore()],
  ['in a folder', () => createFolderStore(mkdtempSync(join(root, 'store-')))],
] as const)
  describe(`a registry ${name}`, () => {
    test('takes a blob in one piece or in several, and gives it out whole or in part', async () => {
      const base = await started({ store: await store() });
      assert.equal((await call(`${base}/v2/`)).status, 200);
      const begun = await call(`${base}/v2/a/b/blobs/uploads/`, 'POST');
      assert.equal(begun.status, 202);
      const location = String(begun.headers['location']);
      assert.match(location, /\?_state=/);
      const first = await call(location, 'PATCH', text.slice(0, 5), { 'content-range': '0-4' });
      assert.deepEqual([first.status, first.headers['range']], [202, '0-4']);
      const wrong = await call(location, 'PATCH', 'x', { 'content-range': '9-9' });
      assert.equal(wrong.status, 416);
      assert.equal((await call(location)).status, 204);
      const done = await call(`${location}&digest=${digest}`, 'PUT', text.slice(5));
      assert.equal(done.status, 201);
      const path = `${base}/v2/a/b/blobs/${digest}`;
      assert.equal((await call(path)).text, text);
      assert.equal((await call(path, 'HEAD')).headers['content-length'], String(text.length));
      const part = await call(path, 'GET', undefined, { range: 'bytes=7-' });
      assert.deepEqual([part.status, part.text], [206, 'layers']);
      assert.equal((await call(path, 'GET', undefined, { range: 'bytes=-6' })).text, 'layers');
      assert.equal((await call(path, 'GET', undefined, { range: 'bytes=99-' })).status, 416);
      // Another repository does not have it before it is linked.
      assert.equal((await call(`${base}/v2/c/blobs/${digest}`)).status, 404);
      assert.equal((await call(`${base}/v2/c/blobs/uploads/?mount=${digest}&from=a/b`, 'POST')).status, 201);
      assert.equal((await call(`${base}/v2/c/blobs/${digest}`)).text, text);
    });

    test('keeps nothing of what differs from it says', async () => {
      const base = await started({ store: await store() });
      const wrong = await call(`${base}/v2/a/blobs/uploads/?digest=${digest}`, 'POST', 'other');
      assert.equal(wrong.status, 400);
      assert.match(wrong.text, /DIGEST_INVALID/);
      assert.equal((await call(`${base}/v2/a/blobs/${digest}`, 'HEAD')).status, 404);
      const begun = await call(`${base}/v2/a/blobs/uploads/`, 'POST');
      assert.equal((await call(String(begun.headers['location']), 'DELETE')).status, 204);
      assert.equal((await call(String(begun.headers['location']))).status, 404);
    });

    test('has manifests under tags and digests, and lists and deletes them', async () => {
      const base = await started({ store: await store() });
      const put = (path: string, body: string) =>
        call(`${base}/v2/a/manifests/${path}`, 'PUT', body, { 'content-type': 'x/y' });
      assert.match((await put('v1', `{"layers":[{"digest":"${digest}"}]}`)).text, /MANIFEST_BLOB_UNKNOWN/);
      assert.match((await put('v1', 'no json')).text, /MANIFEST_INVALID/);
      assert.match((await put(digest, '{}')).text, /DIGEST_INVALID/);
      assert.equal((await call(`${base}/v2/a/tags/list`)).status, 404);
      for (const tag of ['v1', 'v2', 'v10']) assert.equal((await put(tag, '{}')).status, 201);
      assert.equal((await put('v3', '{"a":1}')).status, 201);
      const got = await call(`${base}/v2/a/manifests/v1`);
      assert.deepEqual(
        [got.text, got.headers['content-type'], got.headers['docker-content-digest']],
        ['{}', 'x/y', digestOf('{}')],
      );
      assert.equal((await call(`${base}/v2/a/manifests/${digestOf('{}')}`)).text, '{}');
      assert.deepEqual(JSON.parse((await call(`${base}/v2/a/tags/list`)).text), {
        name: 'a',
        tags: ['v1', 'v10', 'v2', 'v3'],
      });
      const page = await call(`${base}/v2/a/tags/list?n=2&last=v1`);
      assert.deepEqual(JSON.parse(page.text), { name: 'a', tags: ['v10', 'v2'] });
      assert.match(String(page.headers['link']), /last=v2.*rel="next"/);
      assert.equal((await call(`${base}/v2/a/manifests/v3`, 'DELETE')).status, 202);
      assert.equal((await call(`${base}/v2/a/manifests/${digestOf('{}')}`, 'DELETE')).status, 202);
      assert.deepEqual(JSON.parse((await call(`${base}/v2/a/tags/list`)).text), { name: 'a', tags: [] });
    });

    for (const path of [
      '/v2/../../etc/passwd/manifests/x',
      '/v2/a%2f..%2f..%2fb/manifests/x',
      '/v2/_blobs/manifests/x',
      '/v2/A/manifests/x',
      '/v2/a/manifests/..',
      '/v2/a/blobs/sha256:..%2f..%2fx',
      '/v2/a/manifests/%zz',
      '/etc/passwd',
      '/v2/a/blobs/md5:x',
      '/',
    ])
      test(`has nothing at ${path}`, async () => {
        const base = await started({ store: await store() });
        const response = await request(base, { path, method: 'GET' } as never);
        assert.equal(response.statusCode, 404);
        await response.body.dump();
      });
  });

test('a registry in a folder has what it had, after a restart', async () => {
  const folder = join(root, 'lasting');
  const first = await startRegistry({ store: await createFolderStore(folder) });
  await call(`http://${first.address}/v2/a/blobs/uploads/?digest=${digest}`, 'POST', text);
  await call(`http://${first.address}/v2/a/manifests/v1`, 'PUT', '{}', { 'content-type': 'x/y' });
  await first.close();
  const base = await started({ store: await createFolderStore(folder) });
  assert.equal((await call(`${base}/v2/a/blobs/${digest}`)).text, text);
  assert.equal((await call(`${base}/v2/a/manifests/v1`)).text, '{}');
});

test('a registry ends when it is asked to, by its signal too', async () => {
  const stopping = new AbortController();
  const registry = await startRegistry({ signal: stopping.signal });
  stopping.abort();
  await registry.ended;
  await assert.rejects(call(`http://${registry.address}/v2/`), /ECONNREFUSED/);
  const before = await startRegistry({ signal: AbortSignal.abort() });
  await before.ended;
});
