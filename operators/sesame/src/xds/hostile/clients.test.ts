// Clients that send garbage, nothing, or far too much: their streams end with a status, and another client is served meanwhile.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { encode, type Struct } from '../../envoy/index.ts';
import { cluster, createXdsStage, put, type Stage } from '../xds.test-support.ts';
import { discoveryPath } from '../xds-server.ts';
import {
  assertServed,
  CLUSTERS,
  DELTA,
  DELTA_CLUSTERS,
  framed,
  open,
  sessionTo,
  stageWith,
  statusOf,
  WORLD,
} from './streams.test-support.ts';

/** A field of a message: tag, length and content. */
function field(tag: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest = Math.floor(rest / 128)) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** Metadata of a node, nested as deep as asked: a Struct in a Struct. */
function nested(depth: number): Buffer {
  let struct: Buffer = Buffer.alloc(0);
  for (let i = 0; i < depth; i += 1) struct = field(0x0a, field(0x12, field(0x2a, struct)));
  return field(0x12, field(0x1a, struct));
}

describe('a message that cannot be read', () => {
  const cases: Record<string, { bytes: Buffer; status: string; message: RegExp }> = {
    'is nested 7,000 levels deep': {
      bytes: framed(nested(7_000)),
      status: '3',
      message: /nested more than 100 levels/,
    },
    'ends inside a field': {
      bytes: framed(Buffer.from([0x0a, 0x7f, 0x61])),
      status: '3',
      message: /unexpected EOF/,
    },
    'has a field of negative length': {
      bytes: framed(Buffer.from([0x0a, ...Array<number>(9).fill(0xff), 0x01])),
      status: '3',
      message: /unexpected EOF/,
    },
    'has a number of more than ten bytes': {
      bytes: framed(Buffer.alloc(20, 0xff)),
      status: '3',
      message: /integer overflow/,
    },
    'is compressed': { bytes: Buffer.from([1, 0, 0, 0, 1, 0]), status: '12', message: /compressed/ },
    'is larger than the limit': { bytes: Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), status: '8', message: /at most/ },
  };
  for (const [what, { bytes, status, message }] of Object.entries(cases))
    test(`ends its stream with a status when it ${what}`, async (t) => {
      const stage = await stageWith(t);
      const session = sessionTo(t, stage);
      const stream = open(session);
      const ended = statusOf(stream);
      stream.write(bytes);
      const found = await ended;
      assert.equal(found.status, status);
      assert.match(found.message, message);
      await assertServed(stage);
      // The connection of the client goes on, too.
      const next = open(session);
      const answer = new Promise((resolve) => next.once('data', resolve));
      next.write(framed(encode(WORLD, { node: { id: 'x' } })));
      await answer;
      assert.equal(
        Object.values(stage.server.statistics().refused).reduce((sum, count) => sum + count, 0),
        1,
      );
    });

  test('details of an unknown type named constructor are read as bytes', async (t) => {
    const stage = await stageWith(t);
    const stream = open(sessionTo(t, stage));
    const answer = new Promise((resolve) => stream.once('data', resolve));
    const any = field(0x0a, Buffer.from('type.googleapis.com/constructor'));
    const detail = field(0x32, field(0x1a, any));
    stream.write(framed(Buffer.concat([encode(WORLD, { node: { id: 'x' } }), detail])));
    await answer;
  });

  test('a key __proto__ in the metadata of a node changes no prototype', async (t) => {
    const stage = await stageWith(t);
    const stream = open(sessionTo(t, stage));
    const answer = new Promise((resolve) => stream.once('data', resolve));
    const metadata = JSON.parse('{"__proto__": {"polluted": "yes"}}') as Struct;
    stream.write(framed(encode(WORLD, { node: { id: 'x', metadata } })));
    await answer;
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
});

describe('a large request', () => {
  const large = (megabytes: number) =>
    framed(encode(WORLD, { version_info: 'v'.repeat(megabytes << 20), node: { id: 'x' } }));

  async function secondsFor(stage: Stage, t: TestContext, bytes: Buffer, buffer: number): Promise<number> {
    const stream = open(sessionTo(t, stage));
    const answer = new Promise((resolve) => stream.once('data', resolve));
    const started = performance.now();
    for (let at = 0; at < bytes.length; at += buffer)
      if (!stream.write(bytes.subarray(at, at + buffer))) await new Promise((resolve) => stream.once('drain', resolve));
    await answer;
    return (performance.now() - started) / 1000;
  }

  test('is collected in linear time', async (t) => {
    const stage = await stageWith(t);
    await secondsFor(stage, t, large(4), 65_536);
    const small = await secondsFor(stage, t, large(10), 65_536);
    const big = await secondsFor(stage, t, large(40), 65_536);
    // Quadratic cost would be 16 times as much; 40 MB took minutes.
    assert.ok(big < 10 * Math.max(small, 0.1), `10 MB took ${small} s, 40 MB took ${big} s`);
    await assertServed(stage);
  });

  test('a request that never becomes complete ends its stream after the time limit', async (t) => {
    const clock = createVirtualClock();
    const stage = await stageWith(t, {}, clock);
    const stream = open(sessionTo(t, stage));
    const ended = statusOf(stream);
    stream.write(large(1).subarray(0, 1000));
    while (stage.server.statistics().streams === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(60_500);
    assert.deepEqual(await ended, { status: '4', message: 'no complete request arrived within 60 s' });
    assert.equal(stage.server.statistics().refused.time, 1);
  });

  test('counts with the other incomplete requests of its connection', async (t) => {
    const stage = await stageWith(t, { incompleteBytes: 1 << 20 });
    const session = sessionTo(t, stage);
    const streams = Array.from({ length: 4 }, () => open(session));
    const ended = Promise.any(streams.map(statusOf));
    for (const stream of streams) stream.write(large(1).subarray(0, 400_000));
    const { status, message } = await ended;
    assert.equal(status, '8');
    assert.match(message, /incomplete requests; at most 1048576/);
    await assertServed(stage);
  });
});

describe('a client that asks for too much', () => {
  test('is refused with more names than the limit, or with a name that is too long', async (t) => {
    const stage = await stageWith(t, { names: 10, nameLength: 20 });
    const session = sessionTo(t, stage);
    for (const names of [Array.from({ length: 11 }, (_, i) => `n${i}`), ['n'.repeat(21)]]) {
      for (const [path, request] of [
        [discoveryPath(CLUSTERS), encode(WORLD, { resource_names: names })],
        [discoveryPath(DELTA_CLUSTERS), encode(DELTA, { resource_names_subscribe: names })],
      ] as const) {
        const stream = open(session, path);
        const ended = statusOf(stream);
        stream.write(framed(request));
        assert.equal((await ended).status, '8');
      }
    }
    assert.equal(stage.server.statistics().refused.names, 4);
  });

  test('is refused with more names on all streams of its connection than the limit', async (t) => {
    const stage = await stageWith(t, { sessionNameLength: 50 });
    const session = sessionTo(t, stage);
    const first = open(session);
    const answer = new Promise((resolve) => first.once('data', resolve));
    first.write(framed(encode(WORLD, { node: { id: 'x' }, resource_names: ['n'.repeat(30)] })));
    await answer;
    const second = open(session);
    const ended = statusOf(second);
    second.write(framed(encode(WORLD, { node: { id: 'x' }, resource_names: ['m'.repeat(30)] })));
    const { status, message } = await ended;
    assert.equal(status, '8');
    assert.match(message, /names of 60 characters; at most 50 are kept/);
    assert.ok(!first.closed);
    await assertServed(stage);
  });

  test('collects names over many requests of one delta stream up to the limit', async (t) => {
    const stage = await stageWith(t, { names: 10 });
    const stream = open(sessionTo(t, stage), discoveryPath(DELTA_CLUSTERS));
    const ended = statusOf(stream);
    for (let i = 0; i < 11; i += 1) stream.write(framed(encode(DELTA, { resource_names_subscribe: [`n${i}`] })));
    assert.equal((await ended).status, '8');
  });

  test('gets no stream beyond the limit of the server; its other streams stay', async (t) => {
    const stage = await stageWith(t, { streams: 3 });
    const session = sessionTo(t, stage);
    const held = [open(session), open(session)];
    for (const stream of held) stream.write(framed(encode(WORLD, { node: { id: 'x' } })));
    await Promise.all(held.map((stream) => new Promise((resolve) => stream.once('data', resolve))));
    await assertServed(stage);
    const more = Array.from({ length: 3 }, () => open(session));
    const statuses = await Promise.allSettled(more.map(statusOf).map((each) => Promise.race([each, timeout(500)])));
    assert.ok(statuses.filter((each) => each.status === 'fulfilled').length >= 2);
    assert.ok(held.every(({ closed }) => !closed));
  });

  test('and never answers is sent the newest state in a bounded number of responses', async (t) => {
    const stage = await stageWith(t);
    const stream = stage.client.open(DELTA_CLUSTERS);
    stream.request({ resource_names_subscribe: ['a'] });
    await stream.next();
    for (let i = 3; i < 2_000; i += 1) put(stage.store, cluster('a', i));
    await stage.client.roundTrip();
    assert.ok(stream.pending < 1_100, `${stream.pending} responses`);
    await assertServed(stage);
  });

  test('before the first resources are there is refused after many requests', async (t) => {
    const stage = await createXdsStage(t, { limits: { waitingRequests: 5 } });
    const stream = open(sessionTo(t, stage));
    const ended = statusOf(stream);
    for (let i = 0; i < 6; i += 1) stream.write(framed(encode(WORLD, { node: { id: 'x' } })));
    assert.equal((await ended).status, '8');
  });
});

test('an error in the state of one client disconnects that client alone', async (t) => {
  const stage = await stageWith(t);
  const broken = stage.client.open(DELTA_CLUSTERS);
  broken.request({ resource_names_subscribe: ['b'] });
  broken.ack(await broken.next());
  await stage.client.roundTrip();
  const bad = cluster('b');
  Object.defineProperty(bad, 'buffers', {
    value: () => {
      throw new Error('a bug');
    },
  });
  put(stage.store, bad);
  await assert.rejects(broken.next(), /gRPC status 13/);
  await assertServed(stage);
  assert.equal(stage.server.statistics().refused.error, 1);
});

describe('a flood of HTTP/2 frames', () => {
  test('a flood of streams that are opened and reset at once does not stop the server', async (t) => {
    const stage = await stageWith(t);
    const session = sessionTo(t, stage);
    for (let i = 0; i < 5_000 && !session.destroyed; i += 1) {
      open(session).close(constants.NGHTTP2_CANCEL);
      if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await assertServed(stage);
    session.destroy();
    await until(() => stage.server.statistics().streams === 0);
  });

  const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const floods: Record<string, Buffer> = {
    'of settings': frame(4, 0, 0, Buffer.alloc(0)),
    'of pings': frame(6, 0, 0, Buffer.alloc(8)),
    'of empty data': frame(0, 0, 1, Buffer.alloc(0)),
    'of continuations': frame(9, 0, 1, Buffer.alloc(16_000, 0x40)),
  };
  for (const [what, flood] of Object.entries(floods))
    test(`a flood ${what} does not stop the server`, async (t) => {
      const stage = await stageWith(t);
      const socket = connectSocket(stage.server.port, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0))]));
      if (flood[3] === 9) socket.write(frame(1, 0, 1, Buffer.from([0x83])));
      const many = Buffer.concat(Array.from({ length: 200 }, () => flood));
      for (let i = 0; i < 100 && !socket.destroyed; i += 1)
        if (!socket.write(many))
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), timeout(200)]).catch(
            () => undefined,
          );
      await assertServed(stage);
    });
});

test('a client that reads nothing gets no more than its window, and others are served', async (t) => {
  const stage = await stageWith(t);
  const { server, store } = stage;
  const session = sessionTo(t, stage);
  const slow = open(session, discoveryPath(DELTA_CLUSTERS));
  slow.pause();
  slow.write(framed(encode(DELTA, { node: { id: 'slow' }, resource_names_subscribe: ['*'] })));
  await until(() => server.statistics().nodes === 1);
  const before = server.statistics().bytes.cds ?? 0;
  for (let i = 0; i < 2_000; i += 1) put(store, cluster(`c${i}`, 2, 'e'.repeat(10_000)));
  await assertServed(stage);
  // 20 MB were put; one response of at most 2 MB is under way beyond those that fill the window and the buffer of the stream.
  const sent = (server.statistics().bytes.cds ?? 0) - before;
  assert.ok(sent < 5 * 1024 * 1024, `${sent} bytes were sent`);
});

function timeout(ms: number): Promise<never> {
  return new Promise((_resolve, reject) => setTimeout(() => reject(new Error('no answer')), ms).unref());
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
