import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { systemClock } from '@capstan/kube';
import { startCluster } from '../cluster/start-cluster.ts';
import { DEPLOYMENTS, deployment, seeded, settle } from '../server.test-support.ts';

const ROUNDS = 2;
/** An object of this size may be stored. Several of them exceed the buffers between server and client. */
const LARGE_BYTES = 1_900_000;
const READS = 6;
/** After this number of turns of the event loop, the server has read everything that this client has sent. */
const TURNS = 50;

test('a request that arrives while a large answer is still being written is answered on the same connection', async (t) => {
  const cluster = await startCluster({ clock: systemClock, random: seeded(5), port: 0 });
  t.after(() => cluster.close());
  const part = (name: string) =>
    Buffer.from(new RegExp(`${name}-data: "?([^"\\s]+)`).exec(cluster.kubeconfig)?.[1] ?? '', 'base64');
  const socket = connect({
    host: '127.0.0.1',
    port: cluster.port,
    ca: cluster.ca,
    cert: part('client-certificate'),
    key: part('client-key'),
  });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.setMaxListeners(0);
  socket.write(applyOf('large', LARGE_BYTES));
  assert.deepEqual(await statusLines(socket, await nextChunk(socket), 1), ['HTTP/1.1 200 OK']);
  for (let round = 0; round < ROUNDS; round++) {
    // These answers are more than the buffers between server and client hold: the server waits until the client reads on.
    for (let read = 0; read < READS; read++)
      socket.write(`GET ${DEPLOYMENTS}/large HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
    const first = await nextChunk(socket);
    for (let turn = 0; turn < TURNS; turn++) await settle();
    // This request spans several TLS records.
    socket.write(applyOf('small', 40_000));
    for (let turn = 0; turn < TURNS; turn++) await settle();
    const lines = await statusLines(socket, first, READS + 1);
    assert.deepEqual(new Set(lines), new Set(['HTTP/1.1 200 OK']), `round ${round}`);
  }
});

function applyOf(name: string, size: number): Buffer {
  const containers = [{ name: 'main', image: 'a', args: ['x'.repeat(size)] }];
  const template = { metadata: { labels: { app: name } }, spec: { containers } };
  const body = Buffer.from(JSON.stringify(deployment(name, { template })));
  const head = [
    `PATCH ${DEPLOYMENTS}/${name}?fieldManager=test HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/apply-patch+yaml',
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

/** The next bytes; after them the client reads no more until it is asked again. */
async function nextChunk(socket: NodeJS.ReadableStream): Promise<Buffer> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) return chunk;
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    assert.ok(socket.readable, 'the server closed the connection');
  }
}

/** Reads that many whole answers. */
async function statusLines(socket: NodeJS.ReadableStream, first: Buffer, count: number): Promise<string[]> {
  const lines: string[] = [];
  let pending = first;
  while (lines.length < count) {
    const end = pending.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(pending.subarray(0, Math.max(end, 0)).toString())?.[1]);
    if (end < 0 || pending.length < end + 4 + length) {
      pending = Buffer.concat([pending, await nextChunk(socket)]);
      continue;
    }
    lines.push(pending.subarray(0, pending.indexOf('\r\n')).toString().replace('201 Created', '200 OK'));
    pending = pending.subarray(end + 4 + length);
  }
  return lines;
}
