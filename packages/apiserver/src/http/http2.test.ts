import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { openPki } from '../cluster/pki.ts';
import { memorySecretStore } from '../cluster/secret-store.ts';
import { ADMIN } from '../core.ts';
import { CONFIG_MAPS, configMap, testServer } from '../server.test-support.ts';
import { type HttpServerOptions, startHttpServer } from './http-server.ts';

async function serve(t: TestContext, options: Partial<HttpServerOptions> = {}) {
  const { server } = testServer({ authorization: 'RBAC', staticTokens: [{ token: 'sesame', user: ADMIN }] });
  const pki = await openPki({ keep: memorySecretStore(), clock: systemClock, host: '127.0.0.1', clusters: ['one'] });
  const tls = { certificate: pki.server.certificate, key: pki.server.key, ca: pki.ca };
  const http = await startHttpServer({
    clusters: [{ name: 'one', server }],
    clock: systemClock,
    port: 0,
    tls,
    ...options,
  });
  const session = connect(`https://127.0.0.1:${http.port}`, { ca: pki.ca, maxSendHeaderBlockLength: 2 * 1024 * 1024 });
  t.after(async () => {
    session.destroy();
    await http.close();
    await server.close();
  });
  await once(session, 'connect');
  assert.equal(session.alpnProtocol, 'h2');
  return { http, session };
}

interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: unknown;
  /** The body has more to come that never comes. */
  isOpen?: boolean;
}

async function ask(session: ClientHttp2Session, { method = 'GET', path, headers = {}, body, isOpen = false }: Asked) {
  const stream = session.request({
    ':method': method,
    ':path': path,
    authorization: 'Bearer sesame',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  });
  stream.on('error', () => {});
  if (isOpen) stream.write(JSON.stringify(body).slice(0, 5));
  else stream.end(body === undefined ? undefined : JSON.stringify(body));
  const [about] = (await once(stream, 'response')) as [Record<string, string | number>];
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString();
  return { status: about[':status'], about, json: JSON.parse(text) as Record<string, unknown> & { message?: string } };
}

test('requests and watches share one connection, and their answers are those of HTTP/1.1', async (t) => {
  const { session } = await serve(t);
  const watch = session.request({ ':path': `${CONFIG_MAPS}?watch=true`, authorization: 'Bearer sesame' });
  await once(watch, 'response');
  const names = Array.from({ length: 20 }, (_, index) => `map-${index}`);
  const created = await Promise.all(
    names.map((name) => ask(session, { method: 'POST', path: CONFIG_MAPS, body: configMap(name) })),
  );
  assert.deepEqual(new Set(created.map(({ status }) => status)), new Set([201]));
  let lines = '';
  for await (const chunk of watch as AsyncIterable<Buffer>) {
    lines += chunk.toString();
    if (lines.split('\n').length > names.length) break;
  }
  assert.match(lines, /^\{"type":"ADDED","object":\{.*"map-0"/);
  const missing = await ask(session, { path: `${CONFIG_MAPS}/none` });
  assert.equal(missing.status, 404);
  assert.equal(missing.json.message, 'configmaps "none" not found');
  assert.equal((await ask(session, { path: '/api', headers: { authorization: 'Bearer wrong' } })).status, 401);
});

test('bodies of many writes fit into a connection at once', async (t) => {
  const { session } = await serve(t);
  assert.equal((await ask(session, { path: CONFIG_MAPS })).status, 200);
  // The bytes that the client may still send on the connection, all streams together.
  assert.ok((session.state.remoteWindowSize ?? 0) > 10 * 1024 * 1024, String(session.state.remoteWindowSize));
});

test('impersonation sees each group by itself, also one with a comma', async (t) => {
  const { session } = await serve(t);
  const headers = { 'impersonate-user': 'jane', 'impersonate-group': ['a,b', 'c'] };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { json } = await ask(session, { method: 'POST', path, headers, body });
  const { userInfo } = json['status'] as { userInfo: { groups: string[] } };
  assert.deepEqual(userInfo.groups, ['a,b', 'c', 'system:authenticated']);
});

test('a body that is too large is refused, one that does not arrive in time ends, and the connection stays', async (t) => {
  const { session } = await serve(t, { bodyLimit: 10_000, requestMs: 200 });
  const large = { ...configMap('large'), data: { a: 'x'.repeat(20_000) } };
  assert.equal((await ask(session, { method: 'POST', path: CONFIG_MAPS, body: large })).status, 413);
  const late = await ask(session, { method: 'POST', path: CONFIG_MAPS, body: configMap('late'), isOpen: true });
  assert.equal(late.status, 408);
  assert.equal((await ask(session, { method: 'POST', path: CONFIG_MAPS, body: configMap('small') })).status, 201);
});

test('a client that resets its streams again and again is served nevertheless', async (t) => {
  const { session } = await serve(t);
  for (let round = 0; round < 50; round += 1) {
    const stream = session.request({ ':path': `${CONFIG_MAPS}?watch=true`, authorization: 'Bearer sesame' });
    stream.on('error', () => {});
    stream.close(constants.NGHTTP2_CANCEL);
  }
  assert.equal((await ask(session, { path: CONFIG_MAPS })).status, 200);
});

test('a server that closes ends watches and connections', async (t) => {
  const { http, session } = await serve(t);
  const watch = session.request({ ':path': `${CONFIG_MAPS}?watch=true`, authorization: 'Bearer sesame' });
  await once(watch, 'response');
  watch.resume();
  const ended = once(watch, 'close');
  await http.close();
  await ended;
});

test('headers are larger than the limits of Node.js allow: one of them 60 KiB, together 130 KiB', async (t) => {
  const { session } = await serve(t);
  // The client of Node.js sends at most nine frames of 16 KiB; that of Go sends frames as large as the server allows.
  const selector = encodeURIComponent(
    `app in (${Array.from({ length: 6_000 }, (_, index) => `n-${index}`).join(',')})`,
  );
  const headers = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x-${index}`, 'x'.repeat(200)]));
  const { status } = await ask(session, { path: `${CONFIG_MAPS}?labelSelector=${selector}`, headers });
  assert.equal(status, 200);
});
