// Clients that hold as much as they can, and an administrator that must not notice.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@capstan/kube';
import { openPki } from '../cluster/pki.ts';
import { memorySecretStore } from '../cluster/secret-store.ts';
import { ADMIN } from '../core.ts';
import { longestTurn } from '../event-loop.test-support.ts';
import { CONFIG_MAPS, configMap, testServer } from '../server.test-support.ts';
import { type HttpServerOptions, startHttpServer } from './http-server.ts';

const MIB = 1024 * 1024;

async function serve(t: TestContext, options: Partial<HttpServerOptions> = {}) {
  const { server, ok } = testServer({
    authorization: 'RBAC',
    staticTokens: [
      { token: 'admin', user: ADMIN },
      { token: 'nothing', user: { name: 'jane', groups: ['system:authenticated'] } },
      { token: 'writer', user: { name: 'writer', groups: ['system:authenticated'] } },
    ],
  });
  await ok('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'writer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'writer' }],
  });
  const pki = await openPki({ keep: memorySecretStore(), clock: systemClock, host: '127.0.0.1', clusters: ['one'] });
  const tls = { certificate: pki.server.certificate, key: pki.server.key, ca: pki.ca };
  const http = await startHttpServer({
    clusters: [{ name: 'one', server }],
    clock: systemClock,
    port: 0,
    tls,
    ...options,
  });
  const closers: (() => void)[] = [];
  t.after(async () => {
    for (const close of closers) close();
    await http.close();
    await server.close();
  });
  const session = async (settings: { initialWindowSize?: number } = {}) => {
    const opened = connectHttp2(`https://127.0.0.1:${http.port}`, { ca: pki.ca, settings });
    opened.on('error', () => {});
    closers.push(() => opened.destroy());
    await once(opened, 'connect');
    return opened;
  };
  const plain = async () => {
    const socket = connectTls({ host: '127.0.0.1', port: http.port, ca: pki.ca, ALPNProtocols: ['http/1.1'] });
    socket.on('error', () => {});
    closers.push(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const admin = await session();
  assert.equal(await ask(admin, { path: '/version' }), 200);
  return { ok, session, plain, admin };
}

interface Asked {
  path: string;
  token?: string;
  method?: string;
  body?: unknown;
  /** Default JSON. */
  type?: string;
}

const APPLY = 'application/apply-patch+yaml';

function open(session: ClientHttp2Session, { path, token, method = 'GET', type = 'application/json' }: Asked) {
  const stream = session.request(
    {
      ':method': method,
      ':path': path,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(method !== 'GET' && { 'content-type': type }),
    },
    { endStream: method === 'GET' },
  );
  stream.on('error', () => {});
  return stream;
}

async function ask(session: ClientHttp2Session, asked: Asked): Promise<number> {
  const stream = open(session, { token: 'admin', ...asked });
  if (asked.body !== undefined) stream.end(JSON.stringify(asked.body));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  stream.resume();
  await once(stream, 'close');
  return Number(headers[':status']);
}

/** An administrator reads and writes; both are served while the abuse goes on. */
async function assertServed(admin: ClientHttp2Session, path = CONFIG_MAPS): Promise<void> {
  assert.equal(await ask(admin, { path }), 200);
  const body = configMap(`c-${Math.random().toString(36).slice(2)}`);
  assert.equal(await ask(admin, { path: CONFIG_MAPS, method: 'POST', body }), 201);
}

test('a client without credentials that reads none of its answers is cut, and its idle session is ended', async (t) => {
  const { session, admin } = await serve(t, { drainMs: 200, anonymousIdleMs: 200, inFlight: { reads: 4, writes: 4 } });
  const hostile = await session({ initialWindowSize: 0 });
  const closed = once(hostile, 'close');
  const streams = Array.from({ length: 450 }, () => open(hostile, { path: '/version' }));
  const ended = Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('close', resolve))));
  await Promise.all(streams.map((stream) => once(stream, 'response')));
  await assertServed(admin);
  await ended;
  await closed;
  await assertServed(admin);
});

test('a session that asks for nothing is ended, unless its client has shown who it is', async (t) => {
  const { session, plain, admin } = await serve(t, { anonymousIdleMs: 500 });
  const ended = [session, plain].map(async (connect) => {
    // A busy machine may end a connection before its client has seen it open: it is reset then.
    const connection = await connect().catch((reset: NodeJS.ErrnoException) => assert.equal(reset.code, 'ECONNRESET'));
    if (connection !== undefined && !connection.destroyed)
      await new Promise((resolve) => connection.once('close', resolve));
  });
  await Promise.all(ended);
  assert.equal(admin.closed, false);
  await assertServed(admin);
});

test('a client without rights is refused before it has sent its body', async (t) => {
  const { session } = await serve(t);
  const hostile = await session();
  const statuses = await Promise.all(
    Array.from({ length: 250 }, async () => {
      const stream = open(hostile, { path: CONFIG_MAPS, method: 'POST', token: 'nothing' });
      stream.write('{');
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    }),
  );
  assert.deepEqual(new Set(statuses), new Set([403]));
});

test('bodies that do not arrive hold no slots, and end after their time', async (t) => {
  const { session, plain, admin } = await serve(t, { requestMs: 2_000, inFlight: { reads: 4, writes: 4 } });
  const hostile = await session();
  const sent = Array.from({ length: 250 }, () => {
    const stream = open(hostile, { path: CONFIG_MAPS, method: 'POST', token: 'writer' });
    stream.write('{');
    return once(stream, 'response');
  });
  const socket = await plain();
  socket.write(
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer writer\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
  );
  await assertServed(admin);
  const other = await session();
  assert.equal(await ask(other, { path: CONFIG_MAPS, method: 'POST', token: 'writer', body: configMap('own') }), 201);
  const statuses = (await Promise.all(sent)).map(([headers]) => (headers as Record<string, unknown>)[':status']);
  assert.deepEqual(new Set(statuses), new Set([408]));
  let text = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString();
  assert.match(text, /^HTTP\/1\.1 408 /);
});

/** The most memory of buffers and strings beyond the beginning, while the work goes on. */
async function peakMemory(work: () => Promise<void>): Promise<number> {
  const now = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = now();
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, now() - before);
  }, 20);
  await work();
  clearInterval(timer);
  return Math.max(peak, now() - before);
}

test('answers that a client does not read take little memory, over HTTP/1.1 and HTTP/2', async (t) => {
  const { ok, session, plain, admin } = await serve(t);
  const data = { x: 'y'.repeat(200_000) };
  for (let count = 0; count < 60; count += 1) await ok('POST', CONFIG_MAPS, configMap(`large-${count}`, data));
  const peak = await peakMemory(async () => {
    const socket = await plain();
    socket.pause();
    const request = `GET ${CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer writer\r\n\r\n`;
    socket.write(request.repeat(400));
    const hostile = await session({ initialWindowSize: 0 });
    for (let count = 0; count < 300; count += 1) open(hostile, { path: CONFIG_MAPS, token: 'writer' });
    const single = await session({ initialWindowSize: 0 });
    for (let count = 0; count < 300; count += 1) open(single, { path: `${CONFIG_MAPS}/large-0`, token: 'writer' });
    for (let count = 0; count < 10; count += 1) await assertServed(admin, `${CONFIG_MAPS}/large-0`);
  });
  // Unlimited, these are 700 lists of 12 MB and 300 objects of 200 KB.
  assert.ok(peak < 250 * MIB, `${Math.round(peak / MIB)} MiB`);
});

test('a burst of long lists does not occupy the event loop', async (t) => {
  const { ok, session, admin } = await serve(t);
  for (let count = 0; count < 1_000; count += 1) await ok('POST', CONFIG_MAPS, configMap(`c${count}`));
  const readers = await Promise.all([session(), session()]);
  const longest = await longestTurn(async () => {
    const lists = readers.flatMap((reader) =>
      Array.from({ length: 100 }, () => ask(reader, { path: CONFIG_MAPS, token: 'writer' })),
    );
    await assertServed(admin);
    assert.deepEqual(new Set(await Promise.all(lists)), new Set([200]));
  });
  assert.ok(longest < 100, `${Math.round(longest)} ms`);
});

test('writes of many values do not occupy the event loop', async (t) => {
  const { session, admin } = await serve(t);
  const writer = await session();
  const path = `${CONFIG_MAPS}/many`;
  const object = (value: string) =>
    configMap('many', Object.fromEntries(Array.from({ length: 25_000 }, (_, index) => [`key-${index}`, value])));
  const writes = [
    { path: CONFIG_MAPS, method: 'POST', body: object('a') },
    { path, method: 'PUT', body: object('b') },
    { path, method: 'PATCH', body: object('c'), type: 'application/merge-patch+json' },
    { path, method: 'PATCH', body: object('d'), type: 'application/strategic-merge-patch+json' },
    { path: `${path}?fieldManager=a&force=true`, method: 'PATCH', body: object('e'), type: APPLY },
    { path: `${path}?fieldManager=a&force=true`, method: 'PATCH', body: configMap('many', { x: 'y' }), type: APPLY },
  ];
  // Done at once, each of them takes 150 to 300 ms of the processor.
  const longest = await longestTurn(async () => {
    for (const write of writes) {
      const written = ask(writer, { token: 'writer', ...write });
      await assertServed(admin);
      assert.ok([200, 201].includes(await written), `${write.method} ${write.type ?? ''}`);
    }
  });
  assert.ok(longest < 100, `${Math.round(longest)} ms`);
});

test('a burst of watches with long selectors does not occupy the event loop', async (t) => {
  const { ok, session, admin } = await serve(t);
  for (let count = 0; count < 800; count += 1) await ok('POST', CONFIG_MAPS, configMap(`c${count}`));
  const watcher = await session();
  const selector = Array.from({ length: 900 }, (_, index) => `app!=y${index}`).join(',');
  const path = `${CONFIG_MAPS}?watch=true&labelSelector=${encodeURIComponent(selector)}`;
  // Done at once, each of them takes 10 ms of the processor, and those that arrive together more than 100 ms.
  const longest = await longestTurn(async () => {
    const opened = Array.from({ length: 60 }, () => once(open(watcher, { path, token: 'writer' }), 'response'));
    await assertServed(admin, `${CONFIG_MAPS}/c0`);
    for (const [headers] of await Promise.all(opened)) {
      assert.equal((headers as Record<string, unknown>)[':status'], 200);
    }
  });
  assert.ok(longest < 60, `${Math.round(longest)} ms`);
});
