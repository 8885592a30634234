import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { type CertificateAndKey, createCa, issueCertificate } from '../../x509/index.ts';
import { answer, type Handler, peerOf, startServer } from '../http/local-server.ts';
import { type Entry, get, kubeconfig, now, open, serve } from './connect.test-support.ts';
import { type ConnectOptions, connect, connectKubeconfig, loadKubeconfig } from './connect.ts';

const DAY = 86_400_000;

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
