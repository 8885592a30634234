// Frames of connections: WebSocket, SPDY inside of it, and HTTP/2.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@capstan/kube';
import type { FuzzTarget } from '@capstan/testing';
import { openPki } from '../cluster/pki.ts';
import { memorySecretStore } from '../cluster/secret-store.ts';
import { startHttpServer } from '../http/http-server.ts';
import { testServer } from '../server.test-support.ts';
import { serveForwarding } from './port-forward.ts';
import { acceptWebSocket } from './web-socket.ts';

/** A refusal of the client's bytes: it ends the connection, and nothing else. */
const isRefusal = (error: unknown) =>
  error instanceof Error && !(error instanceof TypeError) && !(error instanceof ReferenceError);

const frame = (first: number, payload: string | Buffer, isMasked = true) => {
  const bytes = Buffer.from(payload);
  const length =
    bytes.length < 126
      ? Buffer.from([bytes.length | (isMasked ? 0x80 : 0)])
      : Buffer.from([126 | (isMasked ? 0x80 : 0), bytes.length >> 8, bytes.length & 0xff]);
  return Buffer.concat([Buffer.from([first]), length, isMasked ? Buffer.alloc(4) : Buffer.alloc(0), bytes]);
};

const UPGRADE =
  'GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

/** The bytes that follow the handshake. Reading ends when the connection does. */
function webSocket(): FuzzTarget {
  const server = createServer();
  /** The outcomes of connections that were served. */
  const outcomes: Promise<Error | undefined>[] = [];
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    const serve = async () => {
      try {
        const web = await acceptWebSocket(message, socket, head, '');
        for await (const each of web.messages) await web.send(each.subarray(0, 16));
        web.close();
        return undefined;
      } catch (error) {
        return error instanceof Error ? error : new TypeError(String(error));
      }
    };
    outcomes.push(serve());
  });
  let listening: Promise<unknown> | undefined;
  return {
    name: 'web-socket',
    seeds: [
      Buffer.concat([frame(0x81, 'text'), frame(0x82, Buffer.from([0, 1, 2])), frame(0x88, Buffer.from([3, 232]))]),
      Buffer.concat([frame(0x01, 'a'), frame(0x00, 'b'), frame(0x89, 'ping'), frame(0x80, 'c')]),
      frame(0x82, Buffer.alloc(300)),
      frame(0x8a, ''),
      frame(0x81, Buffer.from([0xff])),
      frame(0x82, 'unmasked', false),
    ],
    tokens: [
      frame(0x00, ''),
      frame(0x02, ''),
      Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      frame(0x89, 'x'),
      Buffer.from([0xc1, 0x80]),
      frame(0x83, ''),
      frame(0x88, Buffer.from([0])),
    ],
    maxBytes: 64 * 1024,
    async read(input) {
      listening ??= once(server.listen(0, '127.0.0.1'), 'listening');
      await listening;
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.write(UPGRADE);
      socket.end(input);
      await once(socket, 'close');
      const [problem] = await Promise.all(outcomes.splice(0));
      if (problem) throw problem;
    },
    isRefusal,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Pairs of Duplex streams: each side reads the output of the other. */
function pipePair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  for (const index of [0, 1]) {
    ends.push(
      new Duplex({
        read() {},
        write(chunk: Buffer, _, written) {
          ends[1 - index]?.push(chunk);
          written();
        },
        final(written) {
          ends[1 - index]?.push(null);
          written();
        },
      }),
    );
  }
  return ends as [Duplex, Duplex];
}

const control = (type: number, flags: number, body: Buffer) => {
  const header = Buffer.alloc(8);
  header.writeUInt32BE((0x8003_0000 | type) >>> 0);
  header.writeUInt32BE(((flags << 24) | body.length) >>> 0, 4);
  return Buffer.concat([header, body]);
};

const spdy: FuzzTarget = {
  name: 'spdy',
  seeds: [
    control(1, 0, Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Buffer.from('789c', 'hex')])),
    control(6, 0, Buffer.from([0, 0, 0, 1])),
    control(3, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 5])),
    control(7, 0, Buffer.alloc(8)),
    Buffer.concat([Buffer.from([0, 0, 0, 1, 1, 0, 0, 4]), Buffer.from('data')]),
  ],
  tokens: [
    control(1, 1, Buffer.alloc(10)),
    control(6, 0, Buffer.alloc(0)),
    control(3, 0, Buffer.alloc(2)),
    Buffer.from([0x80, 3, 0, 1]),
    Buffer.from([0, 0xff, 0xff, 0xff]),
    Buffer.from('78f9', 'hex'),
  ],
  maxBytes: 64 * 1024,
  async read(input) {
    const [client, server] = pipePair();
    for (const end of [client, server]) end.on('error', () => {}).resume();
    server.pause();
    const done = serveForwarding(server, () => Promise.reject(new Error('no such port')), 'pod');
    client.end(input);
    await done;
  },
  isRefusal,
};

const h2 = (type: number, flags: number, stream: number, payload: string | Buffer = '') => {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(9);
  header.writeUIntBE(bytes.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, bytes]);
};

/** `GET /version` with indexed and literal headers of HPACK. */
const GET = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x04, 8]),
  Buffer.from('/version'),
  Buffer.from([0x01, 1]),
  Buffer.from('a'),
]);

/** Frames after the preface, to the whole server. It must stay there for the next connection. */
function http2(): FuzzTarget {
  const prepare = async () => {
    const { server } = testServer({ authorization: 'RBAC' });
    const pki = await openPki({ keep: memorySecretStore(), clock: systemClock, host: '127.0.0.1', clusters: ['one'] });
    const tls = { certificate: pki.server.certificate, key: pki.server.key, ca: pki.ca };
    const http = await startHttpServer({
      clusters: [{ name: 'one', server }],
      clock: systemClock,
      port: 0,
      tls,
      anonymousIdleMs: 200,
    });
    return { server, http, ca: pki.ca };
  };
  let ready: ReturnType<typeof prepare> | undefined;
  return {
    name: 'http2-frames',
    seeds: [
      Buffer.concat([h2(4, 0, 0), h2(1, 5, 1, GET)]),
      Buffer.concat([
        h2(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])),
        h2(1, 5, 1, GET),
        h2(8, 0, 1, Buffer.from([0, 0, 0, 9])),
        h2(3, 0, 1, Buffer.alloc(4)),
      ]),
      Buffer.concat([
        h2(4, 0, 0),
        h2(1, 4, 3, GET),
        h2(0, 1, 3, '{"a":1}'),
        h2(6, 0, 0, Buffer.alloc(8)),
        h2(7, 0, 0, Buffer.alloc(8)),
      ]),
      Buffer.concat([h2(4, 0, 0), h2(1, 1, 1, GET), h2(9, 4, 1, Buffer.from([0x40, 1, 97, 1, 98]))]),
    ],
    tokens: [
      h2(9, 0, 1, ''),
      h2(1, 5, 5, GET),
      h2(3, 0, 1, Buffer.alloc(4)),
      h2(4, 0, 0, Buffer.from([0, 1, 0, 0, 0, 0])),
      h2(6, 0, 0, Buffer.alloc(8)),
      h2(8, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
      h2(5, 4, 1),
      h2(2, 0, 1, Buffer.alloc(5)),
      h2(0, 8, 1, Buffer.from([9, 1])),
    ],
    maxBytes: 32 * 1024,
    async read(input) {
      ready ??= prepare();
      const { http, ca } = await ready;
      const socket = connectTls({ host: '127.0.0.1', port: http.port, ca, ALPNProtocols: ['h2'] });
      socket.on('error', () => {});
      socket.resume();
      await once(socket, 'secureConnect');
      socket.end(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), input]));
      await once(socket, 'close');
    },
    isRefusal,
    async close() {
      const { http, server } = (await ready) ?? {};
      await http?.close();
      await server?.close();
    },
  };
}

export const targets: readonly FuzzTarget[] = [webSocket(), spdy, http2()];
