import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { type Credentials, type Identity } from './credentials.ts';
import { byHand, get, lineOf, setup, streamOf, watch } from './http-transport.test-support.ts';
import { createHttpTransport } from './http-transport.ts';
import { answer, startServer } from './local-server.ts';

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
