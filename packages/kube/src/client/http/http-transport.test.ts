import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectSocket, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { TransportError } from '../../errors.ts';
import { createCa, issueCertificate } from '../../x509/index.ts';
import type { ApiResponse, WatchEvent, WatchStream } from '../transport.ts';
import { type Credentials, fixedCredentials, type Identity } from './credentials.ts';
import { createHttpTransport, type HttpTransportOptions } from './http-transport.ts';
import { answer, type Handler, peerOf, startServer } from './local-server.ts';

async function setup(t: TestContext, handler: Handler, options: Partial<HttpTransportOptions> = {}) {
  const server = await startServer(handler);
  const transport = createHttpTransport({ server: server.address, ...options });
  t.after(async () => {
    await transport.close();
    await server.close();
  });
  return { server, transport };
}

/** Creates a handler whose requests the test answers by hand. */
function byHand() {
  const waiting: ((exchange: [IncomingMessage, ServerResponse]) => void)[] = [];
  const arrived: [IncomingMessage, ServerResponse][] = [];
  return {
    handler: (request: IncomingMessage, response: ServerResponse) => {
      const next = waiting.shift();
      if (next === undefined) arrived.push([request, response]);
      else next([request, response]);
    },
    next: () =>
      new Promise<[IncomingMessage, ServerResponse]>((resolve) => {
        const exchange = arrived.shift();
        if (exchange === undefined) waiting.push(resolve);
        else resolve(exchange);
      }),
  };
}

function streamOf(result: WatchStream | ApiResponse): AsyncIterator<readonly WatchEvent[]> {
  assert.ok(Symbol.asyncIterator in result, 'a watch was expected');
  return result[Symbol.asyncIterator]();
}

const event = (name: string, type: WatchEvent['type'] = 'ADDED') => ({ type, object: { metadata: { name } } });
const lineOf = (name: string) => `${JSON.stringify(event(name))}\n`;
const get = { method: 'GET', path: '/x' } as const;
const watch = { method: 'GET', path: '/pods', query: { watch: 'true' } } as const;

test('method, path, query, headers and body arrive unchanged, and the answer is returned parsed with its sizes', async (t) => {
  const { transport, server } = await setup(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, url, headers } = request;
    const { accept, 'content-type': type, 'x-one': one } = headers;
    answer(response, { method, url, accept, type, one, body }, 201, { 'x-two': '2' });
  });
  const result = await transport.request({
    method: 'PATCH',
    path: '/api/v1/n%20s',
    query: { fieldManager: 'a b', force: 'true' },
    headers: { 'x-one': '1' },
    body: { ü: 1 },
    contentType: 'application/merge-patch+json',
    accept: 'application/json;as=Table',
  });
  assert.equal(result.status, 201);
  assert.equal(result.headers['x-two'], '2');
  assert.equal(result.requestBytes, 8);
  assert.ok((result.responseBytes ?? 0) > 50);
  assert.deepEqual(result.body, {
    method: 'PATCH',
    url: '/api/v1/n%20s?fieldManager=a%20b&force=true',
    accept: 'application/json;as=Table',
    type: 'application/merge-patch+json',
    one: '1',
    body: '{"ü":1}',
  });
  assert.equal(transport.address, server.address);
});

test('a path in the address precedes every path, and credentials in it are dropped', async (t) => {
  const server = await startServer((request, response) =>
    answer(response, [request.url, request.headers.authorization]),
  );
  const withLogin = server.address.replace('://', '://user:hunter2@');
  const transport = createHttpTransport({ server: `${withLogin}/k8s/clusters/c-1/` });
  t.after(async () => {
    await transport.close();
    await server.close();
  });
  assert.deepEqual((await transport.request({ method: 'GET', path: '/api' })).body, ['/k8s/clusters/c-1/api', null]);
  assert.equal(transport.address, `${server.address}/k8s/clusters/c-1`);
});

test('text is returned as text, an empty body as undefined, and broken JSON is an error unless the status is one', async (t) => {
  const { transport } = await setup(t, (request, response) => {
    if (request.url === '/text') response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    else if (request.url === '/none') response.writeHead(204).end();
    else response.writeHead(request.url === '/bad' ? 200 : 500, { 'content-type': 'application/json' }).end('{');
  });
  const ask = (path: string) => transport.request({ method: 'GET', path });
  assert.equal((await ask('/text')).body, 'ok');
  assert.equal((await ask('/none')).body, undefined);
  assert.equal((await ask('/error')).body, '{');
  await assert.rejects(ask('/bad'), { name: 'TransportError', kind: 'malformed' });
});

// undici does not reuse a connection for one turn of the event loop after each answer, so requests in a tight loop alternate between two
// connections.
test('sequential requests share connections, and watches have their own', async (t) => {
  const { transport, server } = await setup(t, (request, response) => {
    if (request.url?.includes('watch')) response.writeHead(200).write(lineOf('a'));
    else answer(response, {});
  });
  for (let index = 0; index < 20; index++) await transport.request(get);
  const shared = server.accepted;
  assert.ok(shared <= 2, `${shared} connections`);
  const watches = await Promise.all([1, 2, 3].map(() => transport.watch(watch)));
  for (let index = 0; index < 20; index++) await transport.request(get);
  assert.equal(server.accepted, shared + 3);
  for (const stream of watches) await streamOf(stream).return?.();
  await server.whenOpen(shared);
});

test('the number of connections limits the concurrent requests', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler, { connections: 2 });
  const all = Promise.all([1, 2, 3, 4, 5].map(() => transport.request(get)));
  for (let index = 0; index < 5; index++) {
    const [, response] = await hand.next();
    answer(response, {});
  }
  await all;
  assert.equal(server.accepted, 2);
});

test('a refused connection is reported as one, and nothing was sent', async (t) => {
  const server = await startServer(() => {});
  await server.close();
  const transport = createHttpTransport({ server: server.address });
  t.after(() => transport.close());
  await assert.rejects(transport.request({ method: 'POST', path: '/x', body: {} }), {
    name: 'TransportError',
    kind: 'refused',
    maybeSent: false,
    address: server.address,
    message: `POST /x at ${server.address}: the connection was refused; check that the API server is running and that the address is right`,
  });
});

test('headers that do not arrive in time end the request and its connection', async (t) => {
  const clock = createVirtualClock();
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler, { clock });
  const call = assert.rejects(transport.request({ ...get, timeoutMs: 5_000 }), {
    kind: 'timeout',
    message: /no answer came within 5 s/,
  });
  await hand.next();
  await clock.advance(4_999);
  assert.equal(server.open, 1);
  await clock.advance(1);
  await call;
  await server.whenOpen(0);
  assert.equal(clock.pendingTimers, 0);
});

test('a body that does not end in time ends the request too', async (t) => {
  const clock = createVirtualClock();
  const hand = byHand();
  const { transport } = await setup(t, hand.handler, { clock });
  const call = assert.rejects(transport.request(get), { kind: 'timeout' });
  const [, response] = await hand.next();
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":');
  await clock.advance(30_000);
  await call;
});

test('a request whose connection is cut before the answer may have been executed', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler);
  const call = assert.rejects(transport.request({ method: 'POST', path: '/x', body: {} }), {
    name: 'TransportError',
    kind: 'reset',
    maybeSent: true,
  });
  await hand.next();
  server.cut();
  await call;
});

test('an abort ends a request at once, and an aborted request is not sent', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler);
  const controller = new AbortController();
  const call = assert.rejects(transport.request({ ...get, signal: controller.signal }), { kind: 'aborted' });
  await hand.next();
  controller.abort();
  await call;
  await server.whenOpen(0);
  await assert.rejects(transport.request({ ...get, signal: controller.signal }), { kind: 'aborted' });
  assert.equal(server.accepted, 1);
});

test('closing the transport rejects open requests, ends watches, closes every connection and refuses later requests', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler);
  const call = assert.rejects(transport.request(get), { kind: 'closed' });
  await hand.next();
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200).flushHeaders();
  const ending = assert.rejects(streamOf(await opening).next(), { kind: 'closed' });
  await transport.close();
  await Promise.all([call, ending]);
  await server.whenOpen(0);
  await assert.rejects(transport.request(get), { kind: 'closed' });
});

test('an answer beyond the limit is refused', async (t) => {
  const { transport } = await setup(t, (_request, response) => answer(response, 'x'.repeat(2_000)), {
    maxResponseBytes: 1_000,
  });
  await assert.rejects(transport.request(get), { kind: 'too-large', message: /ask for smaller pages/ });
});

test('events arrive in batches as their lines are completed, including characters split between chunks', async (t) => {
  const hand = byHand();
  const { transport } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200, { 'content-type': 'application/json' });
  const bytes = Buffer.from(lineOf('a') + lineOf('bü') + lineOf('c'));
  const middle = bytes.indexOf('ü') + 1;
  response.write(bytes.subarray(0, middle));
  const stream = streamOf(await opening);
  assert.deepEqual((await stream.next()).value, [event('a')]);
  response.end(bytes.subarray(middle));
  assert.deepEqual((await stream.next()).value, [event('bü'), event('c')]);
  assert.equal((await stream.next()).done, true);
});

test('a watch that is not iterated is not read any further and loses nothing', async (t) => {
  const hand = byHand();
  const { transport } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const stream = streamOf(await opening);
  const count = 400;
  const filling = 'x'.repeat(100_000);
  let written = 0;
  const writing = (async () => {
    for (; written < count; written++) {
      if (!response.write(lineOf(`${written} ${filling}`))) await once(response, 'drain');
    }
    response.end();
  })();
  // These are enough turns to send all events several times.
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(written < count, `the server could write ${written} events of ${count}`);
  const names: string[] = [];
  for (let step = await stream.next(); !step.done; step = await stream.next()) {
    for (const { object } of step.value) names.push((object as { metadata: { name: string } }).metadata.name);
  }
  await writing;
  assert.deepEqual(
    names.map((name) => Number(name.split(' ')[0])),
    Array.from({ length: count }, (_, index) => index),
  );
});

test('a time-out ends the opening of a watch but never an open watch', async (t) => {
  const clock = createVirtualClock();
  const hand = byHand();
  const { transport } = await setup(t, hand.handler, { clock });
  const late = assert.rejects(transport.watch({ ...watch, timeoutMs: 1_000 }), { kind: 'timeout' });
  await hand.next();
  await clock.advance(1_000);
  await late;

  const opening = transport.watch({ ...watch, timeoutMs: 1_000 });
  const [, response] = await hand.next();
  response.writeHead(200).flushHeaders();
  const stream = streamOf(await opening);
  await clock.advance(3_600_000);
  response.end(lineOf('late'));
  assert.deepEqual((await stream.next()).value, [event('late')]);
});

test('a watch that is cut throws after all events that arrived completely', async (t) => {
  const hand = byHand();
  const { transport, server } = await setup(t, hand.handler);
  const opening = transport.watch(watch);
  const [, response] = await hand.next();
  response.writeHead(200).write(`${lineOf('a')}{"type":"ADDED","obj`);
  const stream = streamOf(await opening);
  assert.deepEqual((await stream.next()).value, [event('a')]);
  const cut = assert.rejects(stream.next(), { name: 'TransportError', kind: 'reset' });
  server.cut();
  await cut;
});

test('a watch that ends cleanly within an event throws', async (t) => {
  const { transport } = await setup(t, (_request, response) => response.writeHead(200).end(`${lineOf('a')}{"type":`));
  const stream = streamOf(await transport.watch(watch));
  assert.deepEqual((await stream.next()).value, [event('a')]);
  await assert.rejects(stream.next(), { kind: 'reset', message: /in the middle of an event/ });
});

test('an invalid or too long line ends the watch after the events before it', async (t) => {
  const bodies: Record<string, string> = {
    '/no-json': 'oops\n',
    '/no-event': '{"kind":"Status"}\n',
    '/large': lineOf('x'.repeat(500)),
  };
  const { transport, server } = await setup(
    t,
    (request, response) => {
      response.writeHead(200).write(lineOf('a') + bodies[request.url ?? ''] + lineOf('b'));
    },
    { maxLineBytes: 200 },
  );
  for (const [path, kind] of [
    ['/no-json', 'malformed'],
    ['/no-event', 'malformed'],
    ['/large', 'too-large'],
  ] as const) {
    const stream = streamOf(await transport.watch({ method: 'GET', path }));
    assert.deepEqual((await stream.next()).value, [event('a')], path);
    await assert.rejects(stream.next(), { name: 'TransportError', kind }, path);
  }
  await server.whenOpen(0);
});

test('leaving the loop and aborting close the connection of a watch', async (t) => {
  const { transport, server } = await setup(t, (_request, response) => response.writeHead(200).write(lineOf('a')));
  const left = await transport.watch(watch);
  assert.ok(Symbol.asyncIterator in left);
  for await (const batch of left) {
    assert.deepEqual(batch, [event('a')]);
    break;
  }
  await server.whenOpen(0);

  const never = await transport.watch(watch);
  await streamOf(never).return?.();
  await server.whenOpen(0);

  const controller = new AbortController();
  const stream = streamOf(await transport.watch({ ...watch, signal: controller.signal }));
  await stream.next();
  const ended = assert.rejects(stream.next(), { kind: 'aborted' });
  controller.abort();
  await ended;
  await server.whenOpen(0);
});

test('a refused watch is an answer, and its connection is reused', async (t) => {
  const { transport, server } = await setup(t, (_request, response) => answer(response, { kind: 'Status' }, 410));
  for (let index = 0; index < 10; index++) {
    const result = await transport.watch(watch);
    assert.ok('status' in result);
    assert.deepEqual([result.status, result.body], [410, { kind: 'Status' }]);
  }
  assert.ok(server.accepted <= 2);
});

test('after a 401, the request is sent exactly once more with new credentials', async (t) => {
  const seen: (string | undefined)[] = [];
  const { server } = await setup(t, (request, response) => {
    seen.push(request.headers.authorization);
    if (request.headers.authorization === 'Bearer 2') answer(response, {});
    else answer(response, { kind: 'Status', code: 401 }, 401);
  });
  let version = 1;
  const tls = {};
  const credentials: Credentials = {
    current: async (): Promise<Identity> => ({ headers: { authorization: `Bearer ${version}` }, tls }),
    refused: async () => {
      version++;
      return true;
    },
    close: async () => {},
  };
  const transport = createHttpTransport({ server: server.address, credentials });
  t.after(() => transport.close());
  assert.equal((await transport.request({ method: 'POST', path: '/x', body: {} })).status, 200);
  assert.deepEqual(seen, ['Bearer 1', 'Bearer 2']);
  version = 7;
  assert.equal((await transport.request(get)).status, 401);
  assert.deepEqual(seen.slice(2), ['Bearer 7', 'Bearer 8']);
});

test('the time-out of a request covers waiting for credentials', async (t) => {
  const clock = createVirtualClock();
  const credentials: Credentials = {
    current: () => new Promise(() => {}),
    refused: async () => false,
    close: async () => {},
  };
  const { transport } = await setup(t, () => {}, { clock, credentials });
  const call = assert.rejects(transport.request(get), { kind: 'timeout' });
  await clock.advance(30_000);
  await call;
});

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
