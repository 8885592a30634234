import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  type Connection,
  connect,
  createCa,
  createHttpTransport,
  fixedCredentials,
  issueCertificate,
  systemClock,
} from '@capstan/kube';
import { CONFIG_MAPS, configMap, seeded } from '../server.test-support.ts';
import { type Cluster, type ClusterOptions, startCluster } from './start-cluster.ts';

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'capstan-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

const start = (options: Partial<ClusterOptions>) =>
  startCluster({ clock: systemClock, random: seeded(3), port: 0, ...options });

async function client(cluster: Cluster, context?: string): Promise<Connection> {
  return connect({
    env: { KUBECONFIG: '/kubeconfig' },
    homeDir: '/',
    readFile: async () => cluster.kubeconfig,
    ...(context !== undefined && { context }),
  });
}

describe('an embedded cluster', () => {
  it('is reached over TLS with its kubeconfig, each logical cluster by its context', async (t) => {
    const cluster = await start({ data: await folder(t), clusters: ['one', 'two'] });
    t.after(() => cluster.close());
    const one = await client(cluster);
    const two = await client(cluster, 'two');
    assert.equal(one.context, 'one');
    assert.equal((await one.request({ method: 'POST', path: CONFIG_MAPS, body: configMap('a') })).status, 201);
    assert.equal((await one.request({ method: 'GET', path: `${CONFIG_MAPS}/a` })).status, 200);
    assert.equal((await two.request({ method: 'GET', path: `${CONFIG_MAPS}/a` })).status, 404);
    const who = { method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews' } as const;
    const { body } = await two.request({ ...who, body: { kind: 'SelfSubjectReview' } });
    const { extra, ...user } = (body as { status: { userInfo: { extra?: Record<string, string[]> } } }).status.userInfo;
    assert.deepEqual(user, { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] });
    assert.match(extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '', /^X509SHA256=[0-9a-f]{64}$/);
    await one.close();
    await two.close();
  });

  it('knows a service account by its token, holds it to its rights, and rejects every other token', async (t) => {
    const cluster = await start({});
    t.after(() => cluster.close());
    await cluster.clusters[0]?.server.idle();
    const admin = await client(cluster);
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const { body } = await admin.request({ method: 'POST', path, body: { spec: {} } });
    const { token } = (body as { status: { token: string } }).status;
    const validity = { notBefore: Date.now() - 1000, notAfter: Date.now() + 60_000 };
    const stranger = await createCa({ commonName: 'capstan', ...validity });
    const subject = { commonName: 'kubernetes-admin', organizations: ['system:masters'] };
    const forged = await issueCertificate({ ca: stranger, ...subject, usages: ['client'], ...validity });
    const server = cluster.clusters[0]?.url ?? '';
    const as = (headers: Record<string, string>, tls: object = {}) =>
      createHttpTransport({ server, credentials: fixedCredentials({ headers, tls: { ca: cluster.ca, ...tls } }) });
    const answers = [
      [as({ authorization: `Bearer ${token}` }), '/api', 200],
      [as({ authorization: `Bearer ${token}` }), '/api/v1/namespaces/default/secrets', 403],
      [as({ authorization: `Bearer ${token}x` }), '/api', 401],
      [as({}), '/api', 401],
      [as({}), '/healthz', 200],
      [as({}, { cert: forged.certificate, key: forged.key }), '/api', 401],
    ] as const;
    for (const [transport, asked, status] of answers) {
      assert.equal((await transport.request({ method: 'GET', path: asked })).status, status, asked);
      await transport.close();
    }
    await admin.close();
  });

  it('gives every namespace an account and the certificate', async (t) => {
    const cluster = await start({});
    t.after(() => cluster.close());
    const transport = await client(cluster);
    const get = async (path: string) => (await transport.request({ method: 'GET', path })).status;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } };
    await transport.request({ method: 'POST', path: '/api/v1/namespaces', body: namespace });
    await cluster.clusters[0]?.server.idle();
    for (const name of ['default', 'fresh']) {
      assert.equal(await get(`/api/v1/namespaces/${name}/serviceaccounts/default`), 200);
      assert.equal(await get(`/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`), 200);
    }
    const path = '/api/v1/namespaces/fresh/configmaps/kube-root-ca.crt';
    const patch = { method: 'PATCH', path, contentType: 'application/merge-patch+json' } as const;
    await transport.request({ ...patch, body: { data: { 'ca.crt': 'changed', more: 'text' } } });
    await cluster.clusters[0]?.server.idle();
    const { body } = await transport.request({ method: 'GET', path });
    assert.deepEqual((body as { data: unknown }).data, { 'ca.crt': cluster.ca });
    await transport.close();
  });

  it('keeps objects, keys and credentials over a restart, in files that no other user may read', async (t) => {
    const data = await folder(t);
    const first = await start({ data });
    const before = await client(first);
    await before.request({ method: 'POST', path: CONFIG_MAPS, body: configMap('a') });
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const { body } = await before.request({ method: 'POST', path, body: { spec: {} } });
    const { token } = (body as { status: { token: string } }).status;
    await before.close();
    await first.close();
    for (const file of await readdir(join(data, 'pki'))) {
      assert.equal((await stat(join(data, 'pki', file))).mode & 0o777, 0o600, file);
    }
    const second = await start({ data });
    t.after(() => second.close());
    assert.equal(second.ca, first.ca);
    const after = await connect({
      env: { KUBECONFIG: '/kubeconfig' },
      homeDir: '/',
      readFile: async () => first.kubeconfig.replace(String(first.port), String(second.port)),
    });
    assert.equal((await after.request({ method: 'GET', path: `${CONFIG_MAPS}/a` })).status, 200);
    const authenticator = second.clusters[0]?.server.authenticator;
    assert.equal(authenticator?.authenticate({ bearerToken: token })?.name, 'system:serviceaccount:default:default');
    await after.close();
  });

  it('keeps the tokens of one logical cluster out of the other', async (t) => {
    const cluster = await start({ clusters: ['one', 'two'] });
    t.after(() => cluster.close());
    const [one, two] = cluster.clusters;
    assert.ok(one && two);
    await one.server.idle();
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const answer = await one.server.transport().request({ method: 'POST', path, body: { spec: {} } });
    const { token } = (answer.body as { status: { token: string } }).status;
    assert.ok(one.server.authenticator.authenticate({ bearerToken: token }));
    assert.equal(two.server.authenticator.authenticate({ bearerToken: token }), undefined);
    // Programs in pods know a host and a port, no path: each cluster has them for itself.
    for (const [{ endpoint }, status] of [
      [one, 200],
      [two, 401],
    ] as const) {
      const headers = { authorization: `Bearer ${token}` };
      const transport = createHttpTransport({
        server: `https://${endpoint.host}:${endpoint.port}`,
        credentials: fixedCredentials({ headers, tls: { ca: cluster.ca } }),
      });
      assert.equal((await transport.request({ method: 'GET', path: '/api' })).status, status);
      await transport.close();
    }
  });

  it('reissues certificates when they are due or do not fit, and never its authority', async (t) => {
    const data = await folder(t);
    await (await start({ data })).close();
    const read = (name: string) => readFile(join(data, 'pki', name), 'utf8');
    const [ca, server] = [await read('ca.crt'), await read('server.crt')];
    const later = { ...systemClock, now: () => Date.now() + 300 * 86_400_000 };
    await (await start({ data, clock: later })).close();
    assert.equal(await read('ca.crt'), ca);
    assert.notEqual(await read('server.crt'), server);
    await writeFile(join(data, 'pki', 'server.key'), await read('admin.key'));
    await (await start({ data })).close();
    await writeFile(join(data, 'pki', 'ca.crt'), 'scribble');
    await assert.rejects(start({ data }), { message: /^cannot use the key or certificate in .*pki\/ca\.crt: / });
    assert.equal(await read('ca.crt'), 'scribble');
  });
});

describe('a cluster that cannot start', () => {
  it('says that its folder is in use, and leaves the other one alone', async (t) => {
    const data = await folder(t);
    const cluster = await start({ data });
    t.after(() => cluster.close());
    const inUse = { message: new RegExp(`^cannot open ${data}: another process \\(pid \\d+\\) is using it; stop`) };
    await assert.rejects(start({ data }), inUse);
    await assert.rejects(start({ data, clusters: ['another'] }), inUse);
    const transport = await client(cluster);
    assert.equal((await transport.request({ method: 'GET', path: CONFIG_MAPS })).status, 200);
    await transport.close();
  });

  it('says that its port is in use, and gives the folder back', async (t) => {
    const other = await start({});
    t.after(() => other.close());
    const data = await folder(t);
    await assert.rejects(start({ data, port: other.port }), { message: /the address is in use/ });
    await (await start({ data })).close();
  });

  it('says what is wrong with the names, or with the folder', async (t) => {
    await assert.rejects(start({ clusters: ['Big'] }), { message: /cannot be named "Big"/ });
    await assert.rejects(start({ clusters: ['a', 'a'] }), { message: /two logical clusters are named "a"/ });
    const file = join(await folder(t), 'file');
    await writeFile(file, '');
    await assert.rejects(start({ data: file }), { message: /^cannot write to / });
  });
});
