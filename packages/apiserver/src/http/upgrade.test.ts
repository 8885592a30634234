import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createClient, Pod, systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { testServer } from '../server.test-support.ts';
import type { PodStreams } from '../streams/pod-streams.ts';
import { startHttpServer } from './http-server.ts';

/** `cat` with a greeting: a command that a client can talk to. */
const echo: PodStreams = {
  exec: (_, { command }) =>
    Promise.resolve(async ({ stdin, stdout, stderr }, signal) => {
      stdout?.write(`${command.join(' ')}|`);
      stderr?.write('warned');
      if (stdin === undefined) return 7;
      if (command[0] === 'idle') await once(signal, 'abort');
      const stop = () => stdin.destroy();
      signal.addEventListener('abort', stop);
      try {
        for await (const chunk of stdin as AsyncIterable<Buffer>) stdout?.write(chunk);
      } catch {
        aborted += 1;
      }
      return 0;
    }),
  attach: () => Promise.reject(new Error('no output')),
  portForward: () =>
    Promise.resolve(
      (port) =>
        new Promise((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket));
          socket.once('error', reject);
        }),
    ),
};
let aborted = 0;

async function serve(t: TestContext) {
  const { server } = testServer({
    authorization: 'RBAC',
    staticTokens: [{ token: 'sesame', user: ADMIN }],
    podStreams: echo,
  });
  const client = createClient({ transport: server.transport(), clock: systemClock });
  await client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  });
  const http = await startHttpServer({ clusters: [{ name: 'one', server }], clock: systemClock, port: 0 });
  const sockets: Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await http.close();
    await server.close();
  });
  const open = async (path: string, headers: Record<string, string>) => {
    const socket = connect(http.port, '127.0.0.1');
    sockets.push(socket);
    const read = collect(socket);
    const lines = Object.entries({ authorization: 'Bearer sesame', host: 'x', connection: 'Upgrade', ...headers });
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    const head = await read.until((text) => text.includes('\r\n\r\n'));
    return { socket, read, head };
  };
  return { http, open };
}

function collect(socket: Socket) {
  let bytes = Buffer.alloc(0);
  let isOver = false;
  let wake = () => {};
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    wake();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isOver = true;
    wake();
  });
  return {
    bytes: () => bytes,
    /** Returns the output once the condition holds, or all of it. */
    async until(isSo: (text: string) => boolean): Promise<string> {
      while (!isSo(bytes.toString('latin1')) && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return bytes.toString('latin1');
    },
  };
}

const EXEC = '/api/v1/namespaces/default/pods/web/exec?command=say&command=it&stdout=true&stderr=true';
const WEB_SOCKET = {
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
};

/** A masked frame, as clients send them; the mask is zeros. */
const frame = (...bytes: readonly number[]) => Buffer.from([0x82, 0x80 | bytes.length, 0, 0, 0, 0, ...bytes]);

test("a WebSocket has the command's streams as channels, and ends with its exit code", async (t) => {
  const { open } = await serve(t);
  const { head, read } = await open(EXEC, WEB_SOCKET);
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
  assert.match(head, /sec-websocket-protocol: v5\.channel\.k8s\.io/i);
  const all = await read.until(() => false);
  assert.ok(all.includes('\u0001say it|'));
  assert.ok(all.includes('\u0002warned'));
  assert.match(all, /"reason":"NonZeroExitCode".*"message":"7"/);
});

test('stdin may come in fragments, beside pings, and be closed alone', async (t) => {
  const { open } = await serve(t);
  const { socket, read } = await open(`${EXEC}&stdin=true`, WEB_SOCKET);
  // The first half of a message, a ping in between, the second half, then the end of stdin.
  socket.write(Buffer.from([0x02, 0x83, 0, 0, 0, 0, 0, 97, 98]));
  socket.write(Buffer.from([0x89, 0x82, 0, 0, 0, 0, 104, 105]));
  socket.write(Buffer.from([0x80, 0x81, 0, 0, 0, 0, 99]));
  socket.write(frame(255, 0));
  const all = await read.until(() => false);
  assert.ok(read.bytes().includes(Buffer.from([0x8a, 2, 104, 105])), 'a pong with the text of the ping');
  assert.ok(all.includes('\u0001abc'));
  assert.match(all, /"status":"Success"/);
});

test('a client that goes ends its command', async (t) => {
  const { open } = await serve(t);
  const before = aborted;
  const { socket, read } = await open(`${EXEC}&stdin=true`, WEB_SOCKET);
  await read.until((text) => text.includes('say it'));
  socket.destroy();
  while (aborted === before) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a violation of the protocol ends that connection and no other', async (t) => {
  const { open } = await serve(t);
  const bad = [
    [WEB_SOCKET, Buffer.from([0x82, 2, 0, 97])],
    [WEB_SOCKET, Buffer.from([0xf2, 0x80, 0, 0, 0, 0])],
    [WEB_SOCKET, Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0x7f), Buffer.alloc(4)])],
    [{ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' }, Buffer.from('8002000100000000', 'hex')],
    [
      { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
      Buffer.from('8003000100000012000000010000000000004141414141414141', 'hex'),
    ],
    [
      { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
      Buffer.from('800300010000000400000001', 'hex'),
    ],
  ] as const;
  for (const [headers, bytes] of bad) {
    const { socket, read } = await open(`${EXEC}&stdin=true`, headers);
    socket.write(bytes);
    await read.until(() => false);
  }
  const { head } = await open(EXEC, WEB_SOCKET);
  assert.match(head, /^HTTP\/1\.1 101 /);
});

/** A frame as a client sends it, masked with zeros by default. */
function rawFrame(first: number, body: Buffer | string, { isMasked = true, length = Buffer.byteLength(body) } = {}) {
  const mask = isMasked ? 0x80 : 0;
  const header =
    length < 126
      ? Buffer.from([first, mask | length])
      : length < 65_536
        ? Buffer.from([first, mask | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([first, mask | 127]), bigEndian(length)]);
  return Buffer.concat([header, ...(isMasked ? [Buffer.alloc(4)] : []), Buffer.from(body)]);
}

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}

const MIB = 1024 * 1024;
const [PROTOCOL_ERROR, NOT_UTF8, TOO_BIG, POLICY] = [1002, 1007, 1009, 1008];
const FIN = 0x80;
const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];
const started = rawFrame(BINARY, '\0a');

const hostile: [what: string, frames: () => Buffer, code: number][] = [
  ['a frame without a mask', () => rawFrame(FIN | BINARY, '\0a', { isMasked: false }), PROTOCOL_ERROR],
  ['the first reserved bit', () => rawFrame(FIN | 0x40 | BINARY, '\0a'), PROTOCOL_ERROR],
  ['the second reserved bit', () => rawFrame(FIN | 0x20 | BINARY, '\0a'), PROTOCOL_ERROR],
  ['the third reserved bit', () => rawFrame(FIN | 0x10 | BINARY, '\0a'), PROTOCOL_ERROR],
  ['a reserved opcode for data', () => rawFrame(FIN | 3, '\0a'), PROTOCOL_ERROR],
  ['a reserved opcode for control', () => rawFrame(FIN | 11, ''), PROTOCOL_ERROR],
  ['a ping in fragments', () => rawFrame(PING, 'a'), PROTOCOL_ERROR],
  ['a close in fragments', () => rawFrame(CLOSE, ''), PROTOCOL_ERROR],
  ['a ping of 126 bytes', () => rawFrame(FIN | PING, 'x'.repeat(126)), PROTOCOL_ERROR],
  ['a pong of 70,000 bytes', () => rawFrame(FIN | PONG, 'x'.repeat(70_000)), PROTOCOL_ERROR],
  ['a continuation of nothing', () => rawFrame(FIN | CONTINUATION, 'a'), PROTOCOL_ERROR],
  ['a message inside of another', () => Buffer.concat([started, rawFrame(FIN | BINARY, '\0b')]), PROTOCOL_ERROR],
  ['a text that is not UTF-8', () => rawFrame(FIN | TEXT, Buffer.from([0, 0xc3, 0x28])), NOT_UTF8],
  ['a close of one byte', () => rawFrame(FIN | CLOSE, '\x03'), PROTOCOL_ERROR],
  ['a close with a code that nothing may send', () => rawFrame(FIN | CLOSE, Buffer.from([0x03, 0xed])), PROTOCOL_ERROR],
  ['a close whose reason is not UTF-8', () => rawFrame(FIN | CLOSE, Buffer.from([0x03, 0xe8, 0xc3, 0x28])), NOT_UTF8],
  ['a length of more than 2^53', () => Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(12, 0x7f)]), TOO_BIG],
  ['a length of 9 MiB', () => rawFrame(FIN | BINARY, '', { length: 9 * MIB }), TOO_BIG],
  [
    'fragments that are 9 MiB together',
    () => Buffer.concat([started, ...Array.from({ length: 9 }, () => rawFrame(CONTINUATION, Buffer.alloc(MIB)))]),
    TOO_BIG,
  ],
  ['18 MB of empty fragments', () => Buffer.concat([started, Buffer.alloc(18_000_000, rawFrame(0, ''))]), POLICY],
];

for (const [what, frames, code] of hostile) {
  test(`a WebSocket that sends ${what} is closed with ${code}, and its command ends`, async (t) => {
    const { open } = await serve(t);
    const before = aborted;
    const { socket, read } = await open(`${EXEC}&stdin=true`, WEB_SOCKET);
    await read.until((text) => text.includes('say it'));
    const memory = process.memoryUsage().rss;
    socket.write(frames());
    await read.until(() => false);
    const end = Buffer.from([0x88, 2, code >> 8, code & 0xff]);
    assert.ok(read.bytes().subarray(-end.length).equals(end), read.bytes().subarray(-20).toString('hex'));
    while (aborted === before) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(process.memoryUsage().rss - memory < 200 * MIB, 'the frames take little memory');
  });
}

test('a command that does not read its input stops the client from sending more', async (t) => {
  const { open } = await serve(t);
  const path = EXEC.replace('command=say', 'command=idle');
  const { socket, read } = await open(`${path}&stdin=true`, WEB_SOCKET);
  await read.until((text) => text.includes('idle it'));
  const chunk = rawFrame(FIN | BINARY, Buffer.alloc(MIB));
  let sent = 0;
  for (; sent < 100; sent += 1) {
    socket.write(chunk);
    const isStuck = await Promise.race([
      once(socket, 'drain').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 1_000)),
    ]);
    if (isStuck) break;
  }
  assert.ok(sent < 50, `${sent} MiB were taken`);
});

test('a refusal is an answer: no such pod, no rights, no known protocol, no upgrade', async (t) => {
  const { open, http } = await serve(t);
  const cases: [path: string, headers: Record<string, string>, answer: RegExp][] = [
    [EXEC.replace('/web/', '/other/'), WEB_SOCKET, /^HTTP\/1\.1 404 .*pods \\"other\\" not found/s],
    [EXEC, { ...WEB_SOCKET, authorization: 'Bearer wrong' }, /^HTTP\/1\.1 401 /],
    [EXEC, { ...WEB_SOCKET, 'sec-websocket-protocol': 'other' }, /^HTTP\/1\.1 400 .*unsupported protocols/s],
    [EXEC.replaceAll('command', 'other'), WEB_SOCKET, /^HTTP\/1\.1 400 .*at least 1 command/s],
    [EXEC.replace('/api/v1', '/apis/example.com/v1'), WEB_SOCKET, /^HTTP\/1\.1 404 /],
    [EXEC.replace('/exec', '/attach'), WEB_SOCKET, /^HTTP\/1\.1 400 .*no output/s],
    ['/api/v1/namespaces/default/pods/web/portforward?ports=x', WEB_SOCKET, /^HTTP\/1\.1 400 .*as a port/s],
    [EXEC, { connection: 'close' }, /^HTTP\/1\.1 400 .*Upgrade request required/s],
    ['/api/v1/namespaces', { ...WEB_SOCKET, connection: 'Upgrade, close' }, /^HTTP\/1\.1 200 .*NamespaceList/s],
  ];
  for (const [path, headers, answer] of cases) {
    const { read } = await open(path, headers);
    assert.match(await read.until(() => false), answer, path);
  }
  assert.ok(http.port > 0);
});

test("port-forward over the channels of a WebSocket: the port's number first, then its bytes", async (t) => {
  const { open } = await serve(t);
  const target = createServer((socket) => socket.on('data', (chunk) => socket.end(`got ${chunk.toString()}`)));
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  t.after(() => target.close());
  const address = target.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const path = `/api/v1/namespaces/default/pods/web/portforward?ports=${port}`;
  const { socket, read } = await open(path, { ...WEB_SOCKET, 'sec-websocket-protocol': 'v4.channel.k8s.io' });
  socket.write(frame(0, 104, 105));
  const all = await read.until((text) => text.includes('got hi'));
  assert.ok(read.bytes().includes(Buffer.from([0x82, 3, 0, port & 0xff, port >> 8])));
  assert.ok(read.bytes().includes(Buffer.from([0x82, 3, 1, port & 0xff, port >> 8])));
  assert.match(all, /got hi/);
});

test('a server that closes ends its streams', async (t) => {
  const { open, http } = await serve(t);
  const { read } = await open(`${EXEC}&stdin=true`, WEB_SOCKET);
  await http.close();
  await read.until(() => false);
});
