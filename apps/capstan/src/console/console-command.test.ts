// The command as a user runs it: the printed address, the login, a plan and its application, all over HTTP.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { Secret, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster, recordingTransport, type TestCluster } from '@capstan/testing';
import { runTest, testIo } from '../cli/test-io.test-support.ts';
import { runCommandLine } from '../cli.ts';
import { Site, sites } from '../commands/sites.test-support.ts';

const modules = { '/home/user/sites.ts': { default: sites } };
const CANARY = 'canary-5f3a9c0e71b24d';
const at = (name: string) => ({ namespace: 'default', name });
const manifest = (text: string) =>
  JSON.stringify({ apiVersion: Site.apiVersion, kind: 'Site', metadata: at('home'), spec: { text } });

interface Running {
  get(path: string): Promise<Reply>;
  post(path: string, body: unknown): Promise<Reply>;
  readonly writes: readonly unknown[];
  stop(): Promise<number>;
}
interface Reply {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

async function start(cluster: TestCluster, ...given: (string | Record<string, string>)[]): Promise<Running> {
  const flags = given.filter((one) => typeof one === 'string');
  const env = given.find((one) => typeof one !== 'string') ?? {};
  const stopping = new AbortController();
  const transport = recordingTransport(cluster.transport());
  const { io, out, err } = testIo({ transport: () => transport, modules, env, signal: stopping.signal });
  const ended = runCommandLine(['console', '--operator', 'sites.ts', ...flags], io);
  let isOver = false;
  void ended.finally(() => (isOver = true)).catch(() => undefined);
  while (!out().includes('\n') && !isOver) await systemClock.yield();
  assert.match(out(), /^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{22}\n$/, err());
  const [url = '', code = ''] = out().trim().split('#code=');
  const ask = async (path: string, init: RequestInit): Promise<Reply> => {
    const response = await fetch(new URL(path, url), init);
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Record<string, unknown> };
  };
  const json = { 'content-type': 'application/json' };
  const { body } = await ask('/api/login', { method: 'POST', headers: json, body: JSON.stringify({ code }) });
  const headers = { 'capstan-token': String(body['token']) };
  // It answers before its caches are full.
  while (((await ask('/api/overview', { headers })).body['filling'] as readonly unknown[]).length > 0)
    await systemClock.yield();
  return {
    get: (path) => ask(path, { headers }),
    post: (path, sent) => ask(path, { method: 'POST', headers: { ...headers, ...json }, body: JSON.stringify(sent) }),
    writes: transport.writes,
    async stop() {
      stopping.abort();
      return ended;
    },
  };
}

describe('capstan console', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
    const { client } = cluster;
    const site = { apiVersion: Site.apiVersion, kind: Site.kind, metadata: at('home'), spec: { text: 'one' } };
    await client.apply(Site, site, { fieldManager: 'capstan-console', force: false });
    const other = { ...site, metadata: at('other') };
    await client.create(Site, other, { fieldManager: 'kubectl' });
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `{"stringData":{"a":"${CANARY}"}}` };
    const metadata = { ...at('token'), annotations };
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { a: CANARY } });
  });
  after(() => cluster.close());

  test('shows the cluster with the user of the session, and plans without writing', async () => {
    const console = await start(cluster);
    try {
      const session = await console.get('/api/session');
      assert.equal(session.status, 200, session.text);
      assert.equal(session.body['writes'], false);
      assert.equal(session.body['context'], 'test');
      const rows = await console.get('/api/objects?sort=-name');
      assert.match(rows.text, /Site\.example\.capstan\.dev/);
      const planned = await console.post('/api/plan', { manifests: manifest('two') });
      assert.equal(planned.status, 200, planned.text);
      assert.equal(planned.body['planId'], undefined);
      assert.match(String(planned.body['text']), /spec\.text: "one" → "two"/);
      const refused = await console.post('/api/act', { planId: 'any', verb: 'apply' });
      assert.equal(refused.status, 403);
      const broken = await console.post('/api/plan', { manifests: 'kind: [' });
      assert.equal(broken.status, 422, broken.text);
      assert.match(String(broken.body['message']), /the manifests, line 1/);
      assert.equal((await cluster.client.find(Site, at('home')))?.spec.text, 'one');
    } finally {
      assert.equal(await console.stop(), 0);
    }
  });

  test('applies a plan with --allow-writes, and refuses one whose object changed', async () => {
    const console = await start(cluster, '--allow-writes');
    try {
      const old = await console.post('/api/plan', { manifests: manifest('three') });
      const { body, text } = await console.post('/api/plan', { manifests: manifest('four') });
      assert.equal(typeof body['planId'], 'string', text);
      const done = await console.post('/api/act', { planId: body['planId'], verb: 'apply' });
      assert.equal(done.status, 200, done.text);
      const foreign = await console.post('/api/plan', { manifests: manifest('five').replace('home', 'other') });
      assert.equal(foreign.body['planId'], undefined);
      assert.match(foreign.text, /conflict with \\"kubectl\\"/);
      assert.equal((await cluster.client.find(Site, at('home')))?.spec.text, 'four');
      const stale = await console.post('/api/act', { planId: old.body['planId'], verb: 'apply' });
      assert.equal(stale.status, 409, stale.text);
      assert.equal((await cluster.client.find(Site, at('home')))?.spec.text, 'four');
    } finally {
      assert.equal(await console.stop(), 0);
    }
  });

  test('plans a change of a Helm release, which only Helm can make, without an action', async () => {
    const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
    const annotations = { 'meta.helm.sh/release-name': 'sites', 'meta.helm.sh/release-namespace': 'default' };
    const metadata = { ...at('released'), labels, annotations };
    const site = { apiVersion: Site.apiVersion, kind: Site.kind, metadata, spec: { text: 'one' } };
    await cluster.client.create(Site, site, { fieldManager: 'helm' });
    const console = await start(cluster, '--allow-writes');
    try {
      const planned = await console.post('/api/plan', {
        manifests: JSON.stringify({ ...site, spec: { text: 'two' } }),
      });
      assert.equal(planned.status, 200, planned.text);
      assert.equal(planned.body['planId'], undefined, planned.text);
    } finally {
      await console.stop();
    }
  });

  test('gives new codes to its user alone, by a socket file', async (t) => {
    const runtime = await mkdtemp(join(tmpdir(), 'capstan-console-'));
    t.after(() => rm(runtime, { recursive: true }));
    const env = { XDG_RUNTIME_DIR: runtime };
    const ask = (...flags: string[]) => runTest(['console', '--code', ...flags], { env });
    assert.match((await ask()).err, /no console runs for this user; start one with capstan console/);
    const console = await start(cluster, env);
    try {
      const [name = ''] = await readdir(join(runtime, 'capstan'));
      assert.equal((await stat(join(runtime, 'capstan', name))).mode & 0o777, 0o600);
      const first = await ask();
      assert.deepEqual([first.code, first.err], [0, '']);
      assert.match(first.out, /^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{22}\n$/);
      assert.notEqual((await ask('--context', 'test')).out, first.out);
      assert.match((await ask('--context', 'other')).err, /no console of the context "other" runs/);
      const [url = '', code = ''] = first.out.trim().split('#code=');
      const login = await fetch(new URL('/api/login', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      assert.equal(login.status, 200);
      await chmod(join(runtime, 'capstan'), 0o777);
      assert.match((await ask()).err, /for sockets of consoles, is not only yours/);
    } finally {
      await console.stop();
    }
    assert.deepEqual(await readdir(join(runtime, 'capstan')), []);
  });

  test('sends no value of a Secret', async () => {
    const console = await start(cluster, '--allow-writes');
    const encoded = Buffer.from(CANARY).toString('base64');
    try {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: at('token'), stringData: { a: 'b' } };
      const replies = [
        await console.get('/api/session'),
        await console.get('/api/overview'),
        await console.get('/api/objects'),
        await console.get('/api/changes'),
        await console.get('/api/reports'),
        await console.get('/api/object/-/Secret/default/token'),
        await console.get('/api/graph/-/Secret/default/token'),
        await console.post('/api/plan', { manifests: JSON.stringify(secret) }),
        await console.post('/api/plan', { manifests: JSON.stringify(secret), delete: true }),
      ];
      for (const { status, text } of replies) {
        assert.equal(status, 200, text);
        assert.ok(!text.includes(CANARY) && !text.includes(encoded), text.slice(0, 200));
      }
      assert.match(replies[5]?.text ?? '', /"keys":\[\{"name":"a","bytes":21\}\]/);
    } finally {
      await console.stop();
    }
  });

  test('serves other machines over TLS only, with a certificate whose fingerprint it prints', async () => {
    const stopping = new AbortController();
    const { io, out, err } = testIo({ transport: () => cluster.transport(), modules, signal: stopping.signal });
    const flags = ['--operator', 'sites.ts', '--listen', '127.0.0.1:0', '--listen-anywhere'];
    const ended = runCommandLine(['console', ...flags], io);
    let isOver = false;
    void ended.finally(() => (isOver = true)).catch(() => undefined);
    while (!err().includes('fingerprint') && !isOver) await systemClock.yield();
    const [, url = '', code = ''] = /^(https:\/\/127\.0\.0\.1:\d+\/)#code=([\w-]+)\n$/.exec(out()) ?? [];
    const [, fingerprint = ''] = /fingerprint ([0-9A-F:]+)\.\n/.exec(err()) ?? [];
    const login = (host: string) =>
      new Promise<{ status: number; fingerprint: string }>((resolve, reject) => {
        const headers = { 'content-type': 'application/json', host };
        // The test compares the fingerprint, as a user does.
        const sent = request(`${url}api/login`, { method: 'POST', headers, rejectUnauthorized: false }, (response) => {
          const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
          response
            .resume()
            .once('end', () => resolve({ status: response.statusCode ?? 0, fingerprint: fingerprint256 }));
        });
        sent.once('error', reject).end(JSON.stringify({ code }));
      });
    try {
      assert.notEqual(url, '', out() + err());
      assert.equal((await login('rebound.example')).status, 421);
      assert.deepEqual(await login(new URL(url).host), { status: 200, fingerprint });
    } finally {
      stopping.abort();
      await ended;
    }
    const plain = testIo({ transport: () => cluster.transport(), modules });
    assert.equal(await runCommandLine(['console', '--operator', 'sites.ts', '--listen', '0.0.0.0:0'], plain.io), 1);
    assert.match(plain.err(), /the console does not listen on 0\.0\.0\.0.*--listen-anywhere/s);
  });
});
