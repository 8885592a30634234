// The server's side of SPDY/3.1, as Kubernetes' Go clients speak it for exec, attach and port-forward: streams that the client opens,
// each with headers that name it. There is no flow control by windows: those clients have none.
import { Duplex } from 'node:stream';
import { createEmptyBlocks, createHeaderReader } from './spdy-headers.ts';
import { roomIn } from './web-socket.ts';

export interface SpdyStream extends Duplex {
  readonly headers: ReadonlyMap<string, string>;
}

export interface SpdyConnection {
  /** Settles when the client has closed the connection; rejects when it sent bytes that are not SPDY. */
  readonly ended: Promise<void>;
  /** Resolves when everything that was written has been handed over. */
  close(): Promise<void>;
}

const VERSION = 3;
const TYPE = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const;
const FIN = 1;
const CANCEL = 5;
const HEADER_BYTES = 8;
const MAX_FRAME = 4 * 1024 * 1024;
const MAX_STREAMS = 1_000;
/** The bytes that may wait for a slow reader before all streams of the connection wait. */
const STREAM_BUFFER = 1024 * 1024;

/** Serves the connection; `onStream` gets every stream that the client opens. */
export function serveSpdy(transport: Duplex, onStream: (stream: SpdyStream) => void): SpdyConnection {
  const headers = createHeaderReader();
  const emptyBlock = createEmptyBlocks();
  const streams = new Map<number, Incoming>();
  let lastId = 0;

  const send = (...parts: readonly Uint8Array[]): Promise<void> => {
    if (transport.destroyed || transport.writableEnded) return Promise.resolve();
    let hasRoom = true;
    transport.cork();
    for (const part of parts) hasRoom = transport.write(part);
    transport.uncork();
    return hasRoom ? Promise.resolve() : roomIn(transport);
  };

  async function control(type: number, flags: number, body: Buffer): Promise<void> {
    if (type === TYPE.synStream) {
      const id = body.readUInt32BE(0) & 0x7f_ff_ff_ff;
      if (streams.size >= MAX_STREAMS) throw new RangeError(`more than ${MAX_STREAMS} streams are open`);
      const named = await headers.read(body.subarray(10));
      lastId = id;
      const stream = createStream(id, named, send, () => streams.delete(id));
      streams.set(id, stream);
      const answer = Buffer.alloc(4);
      answer.writeUInt32BE(id);
      await send(controlFrame(TYPE.synReply, 0, answer, emptyBlock()));
      if ((flags & FIN) !== 0) await stream.receive(undefined);
      onStream(stream.stream);
    } else if (type === TYPE.rstStream) {
      streams.get(body.readUInt32BE(0) & 0x7f_ff_ff_ff)?.stream.destroy();
    } else if (type === TYPE.ping) {
      // Odd ones are the client's own; ours, of which there are none, would come back.
      if (body.readUInt32BE(0) % 2 === 1) await send(controlFrame(TYPE.ping, 0, body.subarray(0, 4)));
    }
  }

  async function read(): Promise<void> {
    for await (const frame of framesOf(transport)) {
      if (frame.type !== undefined) await control(frame.type, frame.flags, frame.body);
      else {
        const stream = streams.get(frame.id);
        if (frame.body.length > 0) await stream?.receive(frame.body);
        if ((frame.flags & FIN) !== 0) await stream?.receive(undefined);
      }
    }
  }

  const ended = read().finally(() => {
    for (const { stream } of streams.values()) stream.destroy();
    headers.close();
  });
  ended.catch(() => {});
  return {
    ended,
    async close() {
      const body = Buffer.alloc(8);
      body.writeUInt32BE(lastId);
      await send(controlFrame(TYPE.goAway, 0, body));
      transport.end();
    },
  };
}

interface Incoming {
  readonly stream: SpdyStream;
  /** Undefined: nothing follows. Resolves when more may come. */
  receive(data: Buffer | undefined): Promise<void>;
}

function createStream(
  id: number,
  headers: ReadonlyMap<string, string>,
  send: (...parts: readonly Uint8Array[]) => Promise<void>,
  forget: () => void,
): Incoming {
  let wake = () => {};
  let isFinished = false;
  const finish = () => {
    isFinished = true;
    return send(dataFrame(id, FIN, 0));
  };
  const duplex = new Duplex({
    readableHighWaterMark: STREAM_BUFFER,
    read: () => wake(),
    write(chunk: Buffer, _, written) {
      send(dataFrame(id, 0, chunk.length), chunk).then(() => written(), written);
    },
    final(written) {
      finish().then(() => written(), written);
    },
    destroy(error, destroyed) {
      wake();
      forget();
      if (!isFinished) {
        const body = Buffer.alloc(8);
        body.writeUInt32BE(id);
        body.writeUInt32BE(CANCEL, 4);
        void send(controlFrame(TYPE.rstStream, 0, body));
      }
      destroyed(error);
    },
  });
  duplex.on('error', () => {});
  return {
    stream: Object.assign(duplex, { headers }),
    receive(data) {
      if (duplex.destroyed || duplex.readableEnded) return Promise.resolve();
      if (duplex.push(data ?? null) || data === undefined) return Promise.resolve();
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}

function controlFrame(type: number, flags: number, ...parts: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(0x8000 | VERSION);
  header.writeUInt16BE(type, 2);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  header.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  return Buffer.concat([header, ...parts]);
}

function dataFrame(id: number, flags: number, length: number): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(id);
  header.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  return header;
}

interface Frame {
  /** Undefined for data. */
  type: number | undefined;
  id: number;
  flags: number;
  body: Buffer;
}

async function* framesOf(transport: Duplex): AsyncGenerator<Frame> {
  let chunks: Buffer[] = [];
  let size = 0;
  /** Bytes without which nothing more can be read: joining chunks for every one of them would copy a large frame again and again. */
  let needed = HEADER_BYTES;
  for await (const chunk of transport as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size < needed) continue;
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    needed = HEADER_BYTES;
    while (rest.length >= HEADER_BYTES) {
      const first = rest.readUInt32BE(0);
      const second = rest.readUInt32BE(4);
      const length = second & 0xff_ff_ff;
      if (length > MAX_FRAME) throw new RangeError(`a frame is longer than ${MAX_FRAME} bytes`);
      needed = HEADER_BYTES + length;
      if (rest.length < needed) break;
      const isControl = first >= 0x80_00_00_00;
      if (isControl && ((first >>> 16) & 0x7f_ff) !== VERSION) throw new RangeError('a frame is not one of SPDY/3');
      const body = rest.subarray(HEADER_BYTES, needed);
      rest = rest.subarray(needed);
      needed = HEADER_BYTES;
      yield { type: isControl ? first & 0xff_ff : undefined, id: first & 0x7f_ff_ff_ff, flags: second >>> 24, body };
    }
    chunks = rest.length === 0 ? [] : [rest];
    size = rest.length;
  }
}
