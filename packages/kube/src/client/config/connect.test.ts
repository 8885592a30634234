import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { type CertificateAndKey, createCa, issueCertificate } from '../../x509/index.ts';
import { answer, type Handler, peerOf, startServer } from '../http/local-server.ts';
import { type ConnectOptions, connect, connectKubeconfig, loadKubeconfig } from './connect.ts';

const DAY = 86_400_000;
const get = { method: 'GET', path: '/api' } as const;

/** Files in memory, as an argument. */
function files(
  contents: Record<string, string>,
): Pick<ConnectOptions, 'readFile' | 'env' | 'homeDir'> & { contents: Record<string, string> } {
  return {
    contents,
    env: {},
    homeDir: '/home/u',
    readFile: async (path) => {
      const text = contents[path];
      if (text === undefined)
        throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
      return text;
    },
  };
}

interface Entry {
  server?: string;
  cluster?: Record<string, unknown>;
  user?: Record<string, unknown>;
  name?: string;
}

/** JSON is YAML. */
function kubeconfig({ server = 'http://127.0.0.1:1', cluster = {}, user = {}, name = 'main' }: Entry): string {
  return JSON.stringify({
    'current-context': name,
    clusters: [{ name, cluster: { server, ...cluster } }],
    users: [{ name: 'me', user }],
    contexts: [{ name, context: { cluster: name, user: 'me', namespace: `ns-${name}` } }],
  });
}

async function serve(t: TestContext, handler: Handler) {
  const server = await startServer(handler);
  t.after(() => server.close());
  return server;
}

async function open(t: TestContext, options: ConnectOptions) {
  const connection = await connect(options);
  t.after(() => connection.close());
  return connection;
}

const echoLogin: Handler = (request, response) => {
  const { authorization, 'impersonate-user': user, 'impersonate-group': group } = request.headers;
  answer(response, { authorization, user, group, extra: request.headers['impersonate-extra-reason'] });
};

test('the kubeconfig is taken from --kubeconfig, KUBECONFIG, the pod, or the default path, in this order', async (t) => {
  const pod = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  const ca = await createCa({ commonName: 'ca', notBefore: 0, notAfter: Date.UTC(2090, 0, 1) });
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
  const edge = files({
    '/flag': kubeconfig({ name: 'flag' }),
    '/env1': kubeconfig({ name: 'env' }),
    '/env2': kubeconfig({ name: 'later' }),
    '/home/u/.kube/config': kubeconfig({ name: 'default' }),
    [`${folder}/token`]: 't',
    [`${folder}/ca.crt`]: ca.certificate,
    [`${folder}/namespace`]: 'mine\n',
  });
  const env = { ...pod, KUBECONFIG: '/missing:/env1:/env2' };
  const where = async (options: ConnectOptions) => {
    const { context, namespace, address } = await open(t, { ...edge, ...options });
    return [context, namespace, address];
  };
  assert.deepEqual(await where({ kubeconfig: '/flag', env }), ['flag', 'ns-flag', 'http://127.0.0.1:1']);
  assert.deepEqual(await where({ env }), ['env', 'ns-env', 'http://127.0.0.1:1']);
  assert.deepEqual(await where({ env, context: 'later' }), ['later', 'ns-later', 'http://127.0.0.1:1']);
  assert.deepEqual(await where({ env: pod }), ['in-cluster', 'mine', 'https://[fd00::1]']);
  assert.deepEqual(await where({ env: pod, inCluster: false }), ['default', 'ns-default', 'http://127.0.0.1:1']);
  assert.deepEqual(await where({ env, inCluster: true }), ['in-cluster', 'mine', 'https://[fd00::1]']);
  assert.deepEqual(await where({}), ['default', 'ns-default', 'http://127.0.0.1:1']);
  assert.deepEqual([...(await loadKubeconfig({ ...edge, env })).contexts.keys()].sort(), ['env', 'later']);
});

test('the credentials of every login method reach the server', async (t) => {
  const { address: server } = await serve(t, echoLogin);
  const as = { as: 'jane', 'as-groups': ['a', 'b'], 'as-user-extra': { Reason: ['x'] } };
  const cases: [user: Record<string, unknown>, expected: Record<string, unknown>][] = [
    [{ token: 'one' }, { authorization: 'Bearer one' }],
    [{ token: 'one', tokenFile: 'token' }, { authorization: 'Bearer two' }],
    [{ username: 'u', password: 'p' }, { authorization: `Basic ${Buffer.from('u:p').toString('base64')}` }],
    [as, { user: 'jane', group: 'a, b', extra: 'x' }],
    [{}, {}],
  ];
  for (const [user, expected] of cases) {
    const edge = files({ '/k/config': kubeconfig({ server, user }), '/k/token': 'two\n' });
    const connection = await open(t, { ...edge, kubeconfig: '/k/config' });
    assert.deepEqual((await connection.request(get)).body, expected);
  }
});

test('a token file is read again every ten seconds, and at once after a 401', async (t) => {
  const clock = createVirtualClock();
  let accepted = 'one';
  const seen: unknown[] = [];
  const { address: server } = await serve(t, (request, response) => {
    seen.push(request.headers.authorization);
    answer(response, {}, request.headers.authorization === `Bearer ${accepted}` ? 200 : 401);
  });
  const edge = files({ '/config': kubeconfig({ server, user: { tokenFile: '/token' } }), '/token': 'one' });
  const connection = await open(t, { ...edge, kubeconfig: '/config', clock });
  const ask = async () => (await connection.request(get)).status;
  assert.equal(await ask(), 200);
  edge.contents['/token'] = 'two';
  assert.equal(await ask(), 200);
  await clock.advance(10_000);
  accepted = 'two';
  assert.equal(await ask(), 200);
  edge.contents['/token'] = 'three';
  accepted = 'three';
  assert.equal(await ask(), 200);
  assert.deepEqual(
    seen,
    ['one', 'one', 'two', 'two', 'three'].map((token) => `Bearer ${token}`),
  );
  // A file that is absent for a moment, as during a rotation, does no harm.
  delete edge.contents['/token'];
  await clock.advance(10_000);
  assert.equal(await ask(), 200);
});

const now = Date.UTC(2026, 0, 1);
const validity = { notBefore: now - 10 * DAY, notAfter: now + 10 * DAY };
const data = (pem: string) => Buffer.from(pem).toString('base64');

async function clientCertificates() {
  const ca = await createCa({ commonName: 'ca', ...validity });
  const client = { ca, commonName: 'me', usages: ['client'] } as const;
  const [good, other, expired, early] = await Promise.all([
    issueCertificate({ ...client, ...validity }),
    issueCertificate({ ...client, ...validity }),
    issueCertificate({ ...client, notBefore: now - 30 * DAY, notAfter: now - DAY }),
    issueCertificate({ ...client, notBefore: now + DAY, notAfter: now + 30 * DAY }),
  ]);
  return { ca, good, other, expired, early };
}

test('an unusable configuration is reported before the first request, with the file and the remedy', async () => {
  const { ca, good, other, expired, early } = await clientCertificates();
  const pair = ({ certificate, key }: CertificateAndKey) => ({
    'client-certificate-data': data(certificate),
    'client-key-data': data(key),
  });
  const edge = files({ '/expired.crt': expired.certificate, '/expired.key': expired.key, '/bad.crt': 'nothing' });
  const cases: [entry: Entry, message: RegExp][] = [
    [
      { user: pair(expired) },
      /^the client certificate in \/config expired on 2025-12-31; get a new kubeconfig or certificate/,
    ],
    [
      { user: { 'client-certificate': 'expired.crt', 'client-key': 'expired.key' } },
      /^the client certificate in \/expired\.crt expired on 2025-12-31; get a new/,
    ],
    [{ user: pair(early) }, /is valid only from 2026-01-02 on; check the clock/],
    [{ user: { ...pair(good), 'client-key-data': data(other.key) } }, /and its key cannot be used together/],
    [{ user: { 'client-certificate-data': data(good.certificate) } }, /of which the client-key is missing; give both/],
    [{ user: { 'client-certificate-data': 'AAAA', 'client-key-data': data(good.key) } }, /not PEM in base64/],
    [
      { cluster: { 'certificate-authority': 'bad.crt' } },
      /^the certificate authority in \/bad\.crt cannot be used: it holds no certificate/,
    ],
    [{ cluster: { 'certificate-authority': 'away.crt' } }, /^cannot read \/away\.crt: ENOENT/],
    [
      { user: { 'auth-provider': { name: 'gcp' } } },
      /uses the auth-provider "gcp", which Kubernetes removed in 1\.26; use the exec plugin/,
    ],
    [{ user: { token: 'x', username: 'y' } }, /has both a token and a username; keep one/],
    [
      { server: 'ftp://u:hunter2@x' },
      /has the server "ftp:\/\/x", which is not an address; write it as https:\/\/HOST:PORT/,
    ],
    [{ server: '' }, /is not an address/],
    [
      { cluster: { 'proxy-url': 'gopher://x' } },
      /proxy-url of the cluster "main" in \/config is not the address of a proxy/,
    ],
    [
      { user: { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } } },
      /apiVersion "client\.authentication\.k8s\.io\/v1alpha1", which is not supported/,
    ],
  ];
  for (const [entry, message] of cases) {
    const contents = { ...edge.contents, '/config': kubeconfig(entry) };
    await assert.rejects(
      connect({ ...files(contents), kubeconfig: '/config', clock: createVirtualClock({ start: now }) }),
      (error: Error) => {
        assert.equal(error.name, 'ConfigError');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /hunter2|PRIVATE|\n/);
        return true;
      },
    );
  }
  const fine = kubeconfig({ user: pair(good), cluster: { 'certificate-authority-data': data(ca.certificate) } });
  const connection = await connect({
    ...files({ '/config': fine }),
    kubeconfig: '/config',
    clock: createVirtualClock({ start: now }),
  });
  await connection.close();
});

test('missing files are reported with different messages', async () => {
  await assert.rejects(
    connect({ ...files({}), kubeconfig: '/nope' }),
    /^ConfigError: cannot read \/nope: ENOENT.*; check the path/,
  );
  await assert.rejects(
    connect(files({})),
    /^ConfigError: no cluster is configured: \/home\/u\/\.kube\/config does not exist; give --kubeconfig FILE or set KUBECONFIG$/,
  );
  await assert.rejects(connect({ ...files({}), env: { KUBECONFIG: '/a:/b' } }), /\/a and \/b do not exist/);
  await assert.rejects(connect({ ...files({}), inCluster: true }), /does not run inside a cluster/);
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  await assert.rejects(connect({ ...files({}), env: pod }), /no usable service account.*automountServiceAccountToken/);
});

test('a client certificate that is renewed on disk is used for new connections, and half a renewal changes nothing', async (t) => {
  const clock = createVirtualClock({ start: now });
  const { ca, good, other } = await clientCertificates();
  const leaf = await issueCertificate({
    ca,
    commonName: 's',
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    ...validity,
    notAfter: Date.UTC(2090, 0, 1),
    notBefore: 0,
  });
  const serial = (pem: string) => new X509Certificate(pem).serialNumber;
  const server = await startServer((request, response) => answer(response, peerOf(request)?.serialNumber), {
    cert: leaf.certificate,
    key: leaf.key,
    requestCert: true,
    rejectUnauthorized: false,
  });
  t.after(() => server.close());
  const edge = files({
    '/config': kubeconfig({
      server: server.address,
      cluster: { 'insecure-skip-tls-verify': true },
      user: { 'client-certificate': '/c', 'client-key': '/k' },
    }),
    '/c': good.certificate,
    '/k': good.key,
  });
  const connection = await open(t, { ...edge, kubeconfig: '/config', clock });
  const ask = async () => (await connection.request(get)).body;
  assert.equal(await ask(), serial(good.certificate));
  edge.contents['/c'] = other.certificate;
  await clock.advance(10_000);
  assert.equal(await ask(), serial(good.certificate));
  edge.contents['/k'] = other.key;
  await clock.advance(10_000);
  assert.equal(await ask(), serial(other.certificate));
  await clock.advance(11 * DAY);
  await assert.rejects(connection.request(get), {
    name: 'TransportError',
    kind: 'credentials',
    message: /the client certificate in \/c expired on 2026-01-11; get a new/,
  });
});

/** Creates an exec plugin in its own folder, with a kubeconfig that names it by a relative path. */
async function plugin(t: TestContext, script: string, exec: Record<string, unknown> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'exec-plugin-'));
  t.after(() => rm(folder, { recursive: true }));
  const { address: server } = await serve(t, (request, response) => {
    const isAccepted = request.headers.authorization !== 'Bearer token-1-refused';
    answer(response, { login: request.headers.authorization }, isAccepted ? 200 : 401);
  });
  await writeFile(join(folder, 'login'), `#!${process.execPath}\nconst fs = require('node:fs');\n${script}\n`);
  await chmod(join(folder, 'login'), 0o755);
  const path = join(folder, 'config');
  const entry = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './login',
    interactiveMode: 'Never',
    ...exec,
  };
  await writeFile(path, kubeconfig({ server, user: { exec: entry } }));
  return { path, folder, server };
}

// The plugin counts its runs in a file beside it, and prints `token-N` with the given tail and expiry.
const counting = (tail: string, status = '{}') => `
const file = __dirname + '/count';
const count = 1 + Number(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 0);
fs.writeFileSync(file, String(count));
console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential',
  status: { token: 'token-' + count + (count === 1 ? ${JSON.stringify(tail)} : ''), ...${status} } }));`;

test('an exec plugin is run once for many requests, again when its credentials expire', async (t) => {
  const clock = createVirtualClock({ start: now });
  const expiry = `{ expirationTimestamp: new Date(${now} + count * 60000).toISOString() }`;
  const { path } = await plugin(t, counting('', expiry));
  const connection = await open(t, { kubeconfig: path, clock });
  const ask = async () => (await connection.request(get)).body;
  const first = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual(
    first,
    Array.from({ length: 3 }, () => ({ login: 'Bearer token-1' })),
  );
  await clock.advance(59_999);
  assert.deepEqual(await ask(), { login: 'Bearer token-1' });
  await clock.advance(1);
  assert.deepEqual(await ask(), { login: 'Bearer token-2' });
});

test('an exec plugin is run again if the server refuses its credentials', async (t) => {
  const { path } = await plugin(t, counting('-refused'));
  const connection = await open(t, { kubeconfig: path });
  assert.deepEqual((await connection.request(get)).body, { login: 'Bearer token-2' });
});

test('an exec plugin gets its arguments, its environment and, on request, the cluster', async (t) => {
  const script = `
const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
const token = [process.argv.slice(2).join('+'), process.env.REGION, spec.interactive, spec.cluster.server].join(',');
console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1beta1', kind: 'ExecCredential', status: { token } }));`;
  const { path, server } = await plugin(t, script, {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    args: ['a', 'b'],
    env: [{ name: 'REGION', value: 'eu' }],
    provideClusterInfo: true,
  });
  const connection = await open(t, { kubeconfig: path });
  assert.deepEqual((await connection.request(get)).body, { login: `Bearer a+b,eu,false,${server}` });
});

test('an exec plugin that is missing, fails or prints nonsense is reported in one sentence', async (t) => {
  const cases: [script: string, exec: Record<string, unknown>, message: RegExp][] = [
    [
      '',
      { command: 'no-such-plugin-here', installHint: 'Install it:\n  brew install it' },
      /exec plugin "no-such-plugin-here" of the user "me" in .* is not installed; Install it: brew install it$/,
    ],
    ['process.exit(3)', {}, /gave no credentials: it ended with exit code 3; run it by hand/],
    ['console.log("Bearer s3cret")', {}, /it did not print JSON/],
    [
      'console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "v7", status: { token: "s3cret" } }))',
      {},
      /it printed another apiVersion than client\.authentication\.k8s\.io\/v1/,
    ],
    [counting('', '{ token: "", x: "s3cret" }'), {}, /it printed neither a token nor a certificate/],
    [counting('', '{ clientKeyData: "s3cret" }'), {}, /it printed only one of certificate and key/],
    ['', { interactiveMode: 'Always' }, /asks for input, and there is no terminal/],
  ];
  for (const [script, exec, message] of cases) {
    const { path } = await plugin(t, script, exec);
    const connection = await open(t, { kubeconfig: path, isTerminal: false });
    await assert.rejects(connection.request(get), (error: Error) => {
      assert.equal(error.name, 'TransportError');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /s3cret|\n/);
      return true;
    });
  }
});

test('closing the connection ends a hanging exec plugin', async (t) => {
  const { path } = await plugin(t, 'setInterval(() => {}, 1000)');
  const connection = await connect({ kubeconfig: path });
  const call = assert.rejects(connection.request(get), { kind: 'closed' });
  await connection.close();
  await call;
});

test('a kubeconfig that is given as data may not run programs or read files', async (t) => {
  const { address: server } = await serve(t, echoLogin);
  const open = (entry: Entry) => connectKubeconfig(kubeconfig(entry), { name: 'Secret shop/remote' });
  const connection = await open({ server, user: { token: 'x' } });
  assert.deepEqual((await connection.request(get)).body, { authorization: 'Bearer x' });
  await connection.close();
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };
  await assert.rejects(
    open({ server, user: { exec } }),
    /the kubeconfig Secret shop\/remote refers to a program \(exec\)/,
  );
  await assert.rejects(open({ server, user: { tokenFile: '/etc/passwd' } }), /refers to a file \(tokenFile\)/);
  await assert.rejects(open({ server, cluster: { 'certificate-authority': 'x' } }), /a file \(certificate-authority\)/);
});

test('the address in a kubeconfig that is given as data can be replaced', async (t) => {
  const { address: server } = await serve(t, echoLogin);
  const text = kubeconfig({ server: 'http://127.0.0.1:1', user: { token: 'x' } });
  const connection = await connectKubeconfig(text, { name: 'Secret shop/remote', server });
  assert.equal(connection.address, server);
  assert.deepEqual((await connection.request(get)).body, { authorization: 'Bearer x' });
  await connection.close();
});
