import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket, Socket } from 'node:net';
import { test } from 'node:test';
import { TransportError } from '../../errors.ts';
import { createCa, issueCertificate } from '../../x509/index.ts';
import { type Credentials, fixedCredentials, type Identity } from './credentials.ts';
import { get, setup } from './http-transport.test-support.ts';
import { createHttpTransport } from './http-transport.ts';
import { answer, peerOf, startServer } from './local-server.ts';

const DAY = 86_400_000;

async function certificates(now = Date.now()) {
  const validity = { notBefore: now - DAY, notAfter: now + DAY };
  const ca = await createCa({ commonName: 'test', ...validity });
  const server = { ca, commonName: 'server', usages: ['server'], ...validity } as const;
  return {
    ca,
    validity,
    leaf: await issueCertificate({ ...server, ipAddresses: ['127.0.0.1'], dnsNames: ['kubernetes'] }),
    server,
  };
}

test('TLS: the authority is verified, client certificates are sent, and new material opens new connections', async (t) => {
  const { ca, leaf, validity } = await certificates();
  const user = (commonName: string) => issueCertificate({ ca, commonName, usages: ['client'], ...validity });
  const [first, second] = await Promise.all([user('first'), user('second')]);
  const server = await startServer((request, response) => answer(response, { user: peerOf(request)?.subject.CN }), {
    cert: leaf.certificate,
    key: leaf.key,
    ca: ca.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const materialOf = ({ certificate: cert, key }: typeof first) => ({ ca: ca.certificate, cert, key });
  let identity: Identity = { headers: {}, tls: materialOf(first) };
  const credentials: Credentials = {
    current: async () => identity,
    refused: async () => false,
    close: async () => {},
  };
  const transport = createHttpTransport({ server: server.address, credentials });
  t.after(async () => {
    await transport.close();
    await server.close();
  });
  const ask = async () => (await transport.request(get)).body;
  assert.deepEqual([await ask(), await ask()], [{ user: 'first' }, { user: 'first' }]);
  const before = server.accepted;
  identity = { headers: {}, tls: materialOf(second) };
  assert.deepEqual([await ask(), await ask()], [{ user: 'second' }, { user: 'second' }]);
  // The idle connections of the first identity close.
  await server.whenOpen(server.accepted - before);
});

test('TLS: each failure has its own message', async (t) => {
  const { ca, leaf, server: base } = await certificates();
  const other = await createCa({ commonName: 'other', notBefore: Date.now() - DAY, notAfter: Date.now() + DAY });
  const ips = { ipAddresses: ['127.0.0.1'] };
  const expired = await issueCertificate({
    ...base,
    ...ips,
    notBefore: Date.now() - 3 * DAY,
    notAfter: Date.now() - DAY,
  });
  const foreign = await issueCertificate({ ...base, dnsNames: ['kubernetes.default'] });
  const ask = async (pair: { certificate: string; key: string }, tls: Identity['tls']) => {
    const server = await startServer((_request, response) => answer(response, {}), {
      cert: pair.certificate,
      key: pair.key,
    });
    const transport = createHttpTransport({ server: server.address, credentials: fixedCredentials({ tls }) });
    t.after(async () => {
      await transport.close();
      await server.close();
    });
    return transport.request(get);
  };
  const failure = (message: RegExp) => ({ name: 'TransportError', kind: 'tls', maybeSent: false, message });
  await assert.rejects(ask(expired, { ca: ca.certificate }), failure(/the server's certificate has expired; renew/));
  await assert.rejects(ask(leaf, { ca: other.certificate }), failure(/not signed by an authority that we know/));
  await assert.rejects(ask(foreign, { ca: ca.certificate }), failure(/is for another name; .*tls-server-name/));
  assert.equal((await ask(foreign, { ca: ca.certificate, serverName: 'kubernetes.default' })).status, 200);
  assert.equal((await ask(expired, { insecure: true })).status, 200);
});

test('TLS to a plain server is recognised', async (t) => {
  const { server } = await setup(t, (_request, response) => answer(response, {}));
  const transport = createHttpTransport({ server: server.address.replace('http:', 'https:') });
  t.after(() => transport.close());
  await assert.rejects(transport.request(get), { kind: 'tls', message: /does not use TLS/ });
});

test('every connection sends keep-alive probes after 15 s of silence', async (t) => {
  const { transport } = await setup(t, (_request, response) => answer(response, {}));
  const keepAlive = t.mock.method(Socket.prototype, 'setKeepAlive');
  await transport.request(get);
  await transport.watch(get);
  assert.deepEqual(
    keepAlive.mock.calls.map((call) => call.arguments),
    [
      [true, 15_000],
      [true, 15_000],
    ],
  );
});

test('a configured proxy is used, and its refusal is distinguished from a refusal of the server', async (t) => {
  const { ca, leaf } = await certificates();
  const server = await startServer((_request, response) => answer(response, 'through'), {
    cert: leaf.certificate,
    key: leaf.key,
  });
  let status = 200;
  let logins: (string | undefined)[] = [];
  const { createServer } = await import('node:http');
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    logins.push(request.headers['proxy-authorization']);
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const upstream = connectSocket(server.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const address = proxy.address();
  assert.ok(typeof address === 'object' && address !== null);
  const options = {
    server: server.address,
    proxyUrl: `http://me:hunter2@127.0.0.1:${address.port}`,
    credentials: fixedCredentials({ tls: { ca: ca.certificate } }),
  };
  const transports = [createHttpTransport(options), createHttpTransport(options)];
  t.after(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await server.close();
    proxy.close();
  });
  const keepAlive = t.mock.method(Socket.prototype, 'setKeepAlive');
  assert.equal((await transports[0]?.request(get))?.body, 'through');
  const delays = keepAlive.mock.calls.map((call) => call.arguments[1]);
  assert.deepEqual(delays, [15_000, 15_000], 'the connection to the proxy, and the one in its tunnel');
  assert.deepEqual(logins, [`Basic ${Buffer.from('me:hunter2').toString('base64')}`]);
  logins = [];
  status = 407;
  const error = await transports[1]?.request(get).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof TransportError);
  assert.equal(error.kind, 'proxy');
  assert.match(error.message, /through the proxy http:\/\/127\.0\.0\.1:\d+\)/);
  assert.doesNotMatch(error.message, /hunter2/);
});
