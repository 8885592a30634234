// Requests whose size, depth or number is made to hurt. Each is answered with a refusal, or its connection is closed, and another client is
// served meanwhile.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { systemClock } from '@capstan/kube';
import { openPki } from '../cluster/pki.ts';
import { memorySecretStore } from '../cluster/secret-store.ts';
import { ADMIN } from '../core.ts';
import { CONFIG_MAPS, configMap, testServer } from '../server.test-support.ts';
import { type HttpServerOptions, startHttpServer } from './http-server.ts';

async function serve(t: TestContext, options: Partial<HttpServerOptions> = {}) {
  const { server, ok } = testServer({ clock: systemClock, staticTokens: [{ token: 'admin', user: ADMIN }] });
  const pki = await openPki({ keep: memorySecretStore(), clock: systemClock, host: '127.0.0.1', clusters: ['one'] });
  const { certificate, key } = pki.server;
  const http = await startHttpServer({
    clusters: [{ name: 'one', server }],
    clock: systemClock,
    port: 0,
    tls: { certificate, key, ca: pki.ca },
    ...options,
  });
  const closers: (() => void)[] = [];
  t.after(async () => {
    for (const close of closers) close();
    await http.close();
    await server.close();
  });
  const session = async () => {
    const opened = connectHttp2(`https://127.0.0.1:${http.port}`, { ca: pki.ca });
    opened.on('error', () => {});
    closers.push(() => opened.destroy());
    await once(opened, 'connect');
    return opened;
  };
  const raw = async (protocol: 'h2' | 'http/1.1') => {
    const socket = connectTls({ host: '127.0.0.1', port: http.port, ca: pki.ca, ALPNProtocols: [protocol] });
    socket.on('error', () => {});
    closers.push(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  return { server, ok, session, raw };
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly type?: string;
  readonly accept?: string;
}

async function ask(
  session: ClientHttp2Session,
  { path, method = 'GET', body, type = 'application/json', accept }: Asked,
) {
  const stream = session.request(
    {
      ':method': method,
      ':path': path,
      authorization: 'Bearer admin',
      ...(body !== undefined && { 'content-type': type }),
      ...(accept !== undefined && { accept }),
    },
    { endStream: body === undefined },
  );
  stream.on('error', () => {});
  if (body !== undefined) stream.end(body);
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { status: Number(headers[':status']), text: Buffer.concat(chunks).toString() };
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const BAGS = '/apis/hostile.dev/v1/namespaces/default/bags';
const bags = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'bags.hostile.dev' },
  spec: {
    group: 'hostile.dev',
    scope: 'Namespaced',
    names: { plural: 'bags', singular: 'bag', kind: 'Bag', listKind: 'BagList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              word: { type: 'string', pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' },
            },
          },
        },
      },
    ],
  },
};

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const JSON_PATCH = 'application/json-patch+json';

function varint(number: number): number[] {
  return number < 128 ? [number] : [(number & 127) | 128, ...varint(number >>> 7)];
}
const field = (number: number, bytes: Uint8Array | string) => {
  const content = Buffer.from(bytes);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(content.length)]), content]);
};
const inProtobuf = (kind: string, content: Uint8Array) =>
  Buffer.concat([Buffer.from('k8s\0'), field(1, Buffer.concat([field(1, 'v1'), field(2, kind)])), field(2, content)]);

const nested = (open: string, close: string, levels: number) => `${open.repeat(levels)}{}${close.repeat(levels)}`;
const token = (json: string) => Buffer.from(json).toString('base64url');
const patchOf = (operations: readonly object[]): Asked => ({
  path: `${BAGS}/bag`,
  method: 'PATCH',
  type: JSON_PATCH,
  body: JSON.stringify(operations),
});

/** Adds a value of 900 levels to the end of the one before, forty times. */
function deepAdditions(): object[] {
  const value = JSON.parse(nested('{"a":', '}', 900)) as unknown;
  return Array.from({ length: 40 }, (_, index) => ({ op: 'add', path: `/spec${'/a'.repeat(index * 900 + 1)}`, value }));
}

const create = (path: string, body: string | Uint8Array, type?: string): Asked => ({
  path,
  method: 'POST',
  body,
  ...(type !== undefined && { type }),
});

const requests: [what: string, asked: () => Asked, statuses: readonly number[]][] = [
  [
    'protobuf with a million empty finalizers',
    () =>
      create(CONFIG_MAPS, inProtobuf('ConfigMap', field(1, Buffer.alloc(2_000_000, Buffer.from([114, 0])))), PROTOBUF),
    [413],
  ],
  [
    'protobuf with a million empty containers',
    () =>
      create(
        '/api/v1/namespaces/default/pods',
        inProtobuf('Pod', field(2, Buffer.alloc(2_000_000, Buffer.from([18, 0])))),
        PROTOBUF,
      ),
    [413],
  ],
  [
    'protobuf with deep JSON inside',
    () => {
      const fields = field(7, field(1, nested('{"f:a":', '}', 100_000)));
      const metadata = field(1, Buffer.concat([field(1, 'deep'), field(17, fields)]));
      return create(CONFIG_MAPS, inProtobuf('ConfigMap', metadata), PROTOBUF);
    },
    [400],
  ],
  [
    'bytes that are no protobuf',
    () => create(CONFIG_MAPS, Buffer.from(`k8s\0${'\u00ff\u0001'.repeat(20_000)}`), PROTOBUF),
    [400],
  ],
  ['JSON that is open and deep', () => create(CONFIG_MAPS, '['.repeat(1_000_000)), [400]],
  [
    'JSON with deep managed fields',
    () => create(CONFIG_MAPS, `{"metadata":{"managedFields":${nested('{"f:a":', '}', 2_000)}}}`),
    [400],
  ],
  ['a JSON patch that adds to what it has added', () => patchOf(deepAdditions()), [422]],
  [
    'a JSON patch that copies what it has copied',
    () => patchOf(Array.from({ length: 200 }, (_, index) => ({ op: 'copy', from: '/spec', path: `/spec/${index}` }))),
    [422],
  ],
  [
    'a JSON patch with too many operations',
    () => patchOf(Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/spec/a', value: 1 }))),
    [413, 422],
  ],
  ['a continue token that is null', () => ({ path: `${CONFIG_MAPS}?limit=1&continue=${token('null')}` }), [400]],
  ['a continue token that is a list', () => ({ path: `${CONFIG_MAPS}?limit=1&continue=${token('[1]')}` }), [400]],
  [
    'a continue token that is deep',
    () => ({ path: `${CONFIG_MAPS}?limit=1&continue=${token('['.repeat(30_000))}` }),
    [400],
  ],
  [
    'a continue token with a fraction of a revision',
    () => ({ path: `${CONFIG_MAPS}?limit=1&continue=${token('{"v":"meta.k8s.io/v1","rv":0.5,"start":"a"}')}` }),
    [400],
  ],
  ['a limit beyond all numbers', () => ({ path: `${CONFIG_MAPS}?limit=99999999999999999999` }), [400]],
  [
    'a label selector with thousands of terms',
    () => ({
      path: `${CONFIG_MAPS}?labelSelector=${Array.from({ length: 5_000 }, (_, index) => `!a${index}`).join(',')}`,
    }),
    [400],
  ],
  ['a label selector of brackets', () => ({ path: `${CONFIG_MAPS}?labelSelector=${'('.repeat(50_000)}` }), [400]],
  [
    'a text for which a regular expression would try everything',
    () =>
      create(
        BAGS,
        JSON.stringify({
          apiVersion: 'hostile.dev/v1',
          kind: 'Bag',
          metadata: { name: 'w' },
          word: 'a'.repeat(100_000),
        }),
      ),
    [422],
  ],
  [
    'a rule of nested loops',
    () => {
      const text = JSON.stringify(bags)
        .replaceAll('bags', 'loops')
        .replaceAll('"bag"', '"loop"')
        .replaceAll('Bag', 'Loop');
      const definition = JSON.parse(text) as typeof bags;
      const schema = definition.spec.versions[0]?.schema.openAPIV3Schema as unknown as Record<
        string,
        Record<string, unknown>
      >;
      const rule = 'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))';
      const l = { type: 'array', items: { type: 'integer' } };
      schema['properties'] = { spec: { type: 'object', properties: { l }, 'x-kubernetes-validations': [{ rule }] } };
      return create(DEFINITIONS, JSON.stringify(definition));
    },
    [422],
  ],
];

test('hostile requests are refused with 4xx, and another client is served', async (t) => {
  const { server, ok, session } = await serve(t);
  await ok('POST', DEFINITIONS, bags);
  await server.idle();
  await ok('POST', BAGS, { apiVersion: 'hostile.dev/v1', kind: 'Bag', metadata: { name: 'bag' }, spec: { a: 1 } });
  const [hostile, other] = await Promise.all([session(), session()]);
  for (const [what, asked, statuses] of requests) {
    await t.test(what, async () => {
      const answer = ask(hostile, asked());
      assert.equal((await ask(other, { path: '/version' })).status, 200);
      const { status, text } = await answer;
      assert.ok(statuses.includes(status), `${status}: ${text.slice(0, 300)}`);
    });
  }
});

test('an object grows to two mebibytes and no further, whatever is added to it', async (t) => {
  const { server, ok, session } = await serve(t);
  await ok('POST', DEFINITIONS, bags);
  await server.idle();
  await ok('POST', BAGS, { apiVersion: 'hostile.dev/v1', kind: 'Bag', metadata: { name: 'bag' }, spec: {} });
  const client = await session();
  const statuses: number[] = [];
  for (let index = 0; index < 4; index += 1) {
    const body = JSON.stringify({ spec: { [`part-${index}`]: 'x'.repeat(900_000) } });
    const { status } = await ask(client, {
      path: `${BAGS}/bag`,
      method: 'PATCH',
      type: 'application/merge-patch+json',
      body,
    });
    statuses.push(status);
  }
  assert.deepEqual(statuses, [200, 200, 413, 413]);
});

test('long answers in YAML are written in a thread, and those that are too long are refused', async (t) => {
  const { ok, session } = await serve(t);
  const data = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key-${index}`, `no: "${index}"`]));
  await ok('POST', CONFIG_MAPS, configMap('one', data));
  const client = await session();
  const { status, text } = await ask(client, { path: `${CONFIG_MAPS}/one`, accept: 'application/yaml' });
  assert.equal(status, 200);
  assert.match(text, /^ {2}key-1999: 'no: "1999"'$/m);
  for (let index = 0; index < 30; index += 1)
    await ok('POST', CONFIG_MAPS, configMap(`c${index}`, { x: 'y'.repeat(400_000) }));
  const refused = await ask(client, { path: CONFIG_MAPS, accept: 'application/yaml' });
  assert.equal(refused.status, 406);
  assert.match(refused.text, /ask for application\/json/);
});

test('a long list for people is the same text as one that is written at once', async (t) => {
  const { ok, session } = await serve(t);
  for (let index = 0; index < 50; index += 1) await ok('POST', CONFIG_MAPS, configMap(`c${index}`, { x: 'a\nb' }));
  const client = await session();
  const { text } = await ask(client, { path: `${CONFIG_MAPS}?pretty=true` });
  assert.equal(text, `${JSON.stringify(JSON.parse(text), null, 2)}\n`);
});

test('a user has a limited number of watches, and another request is served', async (t) => {
  const { session } = await serve(t, { maxWatches: 20 });
  const [many, other] = await Promise.all([session(), session()]);
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const stream = many.request({ ':path': `${CONFIG_MAPS}?watch=true`, authorization: 'Bearer admin' });
      stream.on('error', () => {});
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      return headers[':status'];
    }),
  );
  assert.deepEqual(
    [statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length],
    [20, 10],
  );
  assert.equal((await ask(other, { path: CONFIG_MAPS })).status, 200);
  many.destroy();
  await once(many, 'close');
  const stream = other.request({ ':path': `${CONFIG_MAPS}?watch=true`, authorization: 'Bearer admin' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 200, 'watches that have ended do not count');
  stream.close();
});

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, content: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);
/** `GET / https` from the static table, and an authority. */
const HEADERS = Buffer.concat([Buffer.from([0x82, 0x84, 0x87, 0x41, 1]), Buffer.from('a')]);

function* many(count: number, make: (index: number) => Buffer): Generator<Buffer> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

const floods: [what: string, frames: () => Iterable<Buffer>][] = [
  [
    'rapid resets',
    () =>
      many(100_000, (i) => Buffer.concat([frame(1, 5, 2 * i + 1, HEADERS), frame(3, 0, 2 * i + 1, Buffer.alloc(4))])),
  ],
  ['settings', () => many(500_000, () => frame(4, 0, 0))],
  ['pings', () => many(500_000, () => frame(6, 0, 0, Buffer.alloc(8)))],
  [
    'continuations without an end',
    () =>
      many(100_000, (i) =>
        i === 0
          ? frame(1, 0, 1, HEADERS)
          : frame(
              9,
              0,
              1,
              Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('a'), Buffer.from([100]), Buffer.alloc(100, 97)]),
            ),
      ),
  ],
  ['empty data', () => many(500_000, (i) => (i === 0 ? frame(1, 4, 1, HEADERS) : frame(0, 0, 1)))],
];

/** Writes until the other side closes the connection, or everything is written. Answers are not read. */
async function flood(socket: TLSSocket, frames: Iterable<Buffer>): Promise<void> {
  socket.write(PREFACE);
  let batch: Buffer[] = [];
  for (const one of frames) {
    if (batch.push(one) < 500) continue;
    if (socket.destroyed || socket.writableEnded) return;
    if (!socket.write(Buffer.concat(batch))) {
      await Promise.race([
        once(socket, 'drain'),
        once(socket, 'close'),
        new Promise((resolve) => setTimeout(resolve, 200)),
      ]);
    }
    if (socket.writableLength > 4 * 1024 * 1024) return;
    batch = [];
  }
}

for (const [what, frames] of floods) {
  test(`a flood of ${what} over HTTP/2 neither fills the memory nor keeps others waiting`, async (t) => {
    const { raw, session } = await serve(t, { anonymousIdleMs: 500 });
    const other = await session();
    assert.equal((await ask(other, { path: CONFIG_MAPS })).status, 200);
    const socket = await raw('h2');
    const { arrayBuffers: before } = process.memoryUsage();
    const flooding = flood(socket, frames());
    for (let count = 0; count < 10; count += 1) assert.equal((await ask(other, { path: CONFIG_MAPS })).status, 200);
    await flooding;
    const { arrayBuffers: after } = process.memoryUsage();
    assert.ok(after - before < 100 * 1024 * 1024, `${Math.round((after - before) / 1024 / 1024)} MiB`);
    assert.equal((await ask(other, { path: CONFIG_MAPS })).status, 200);
    socket.destroy();
  });
}

/** A connection that the server resets while the client writes ends with an error, and is closed all the same. */
function closeOf(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}

test('headers that arrive one byte at a time, or are too large, end the connection', async (t) => {
  const { raw, session } = await serve(t, { requestMs: 1_000, anonymousIdleMs: 60_000 });
  const other = await session();
  const slow = await raw('http/1.1');
  const closed = closeOf(slow);
  slow.resume();
  slow.write('GET /version HTTP/1.1\r\nhost: a\r\nx: ');
  const timer = setInterval(() => slow.write('y'), 20);
  t.after(() => clearInterval(timer));
  const large = await raw('http/1.1');
  let text = '';
  large.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  large.write(`GET /version HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(1_200_000)}\r\n\r\n`);
  assert.equal((await ask(other, { path: '/version' })).status, 200);
  await Promise.all([closed, closeOf(large)]);
  assert.match(text, /^(HTTP\/1\.1 431 |$)/);
});
