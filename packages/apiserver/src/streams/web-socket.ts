// The server's side of a WebSocket (RFC 6455) on a connection that was upgraded.
import { createHash } from 'node:crypto';
import { Duplex } from 'node:stream';

export interface WebSocket {
  /** Messages in their order, text and binary alike; they end when the client closes. A protocol error throws. */
  readonly messages: AsyncIterable<Buffer>;
  /** Sends a binary message of all parts; resolves when there is room for the next. */
  send(...parts: readonly Uint8Array[]): Promise<void>;
  /** Says that nothing follows, and ends the connection. */
  close(code?: number, reason?: string): void;
}

/** What the client's key is answered with. */
export function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

/** Larger ones are refused: clients send pieces of some KiB. */
const MAX_MESSAGE = 8 * 1024 * 1024;
const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export function createWebSocket(socket: Duplex): WebSocket {
  let hasClosed = false;

  const write = (opcode: number, ...parts: readonly Uint8Array[]): Promise<void> => {
    if (socket.destroyed || socket.writableEnded) return Promise.resolve();
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    socket.cork();
    socket.write(frameHeader(opcode, length));
    let hasRoom = true;
    for (const part of parts) hasRoom = socket.write(part);
    socket.uncork();
    return hasRoom ? Promise.resolve() : roomIn(socket);
  };

  const close = (code = 1000, reason = ''): void => {
    if (hasClosed) return;
    hasClosed = true;
    const body = Buffer.alloc(2 + Buffer.byteLength(reason));
    body.writeUInt16BE(code);
    body.write(reason, 2);
    void write(OPCODE.close, body);
    socket.end();
  };

  async function* messages(): AsyncGenerator<Buffer> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const { opcode, isLast, body } of framesOf(socket)) {
      if (opcode === OPCODE.ping) await write(OPCODE.pong, body);
      if (opcode === OPCODE.close) return close(body.length >= 2 ? body.readUInt16BE() : 1000);
      if (opcode > OPCODE.binary) continue;
      size += body.length;
      if (size > MAX_MESSAGE) throw new RangeError(`a message is longer than ${MAX_MESSAGE} bytes`);
      pieces.push(body);
      if (!isLast) continue;
      const message = pieces.length === 1 ? body : Buffer.concat(pieces);
      pieces.length = 0;
      size = 0;
      yield message;
    }
  }

  return { messages: messages(), send: (...parts) => write(OPCODE.binary, ...parts), close };
}

/** The bytes of all messages as one stream, for a protocol inside of them. */
export function tunnelThrough(web: WebSocket): Duplex {
  const source = web.messages[Symbol.asyncIterator]();
  return new Duplex({
    read() {
      source.next().then(
        ({ value, done }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    },
    write(chunk: Buffer, _, written) {
      web.send(chunk).then(() => written(), written);
    },
    final(written) {
      web.close();
      written();
    },
    destroy(error, destroyed) {
      web.close(error === null ? 1000 : 1011);
      destroyed(error);
    },
  });
}

/** Resolves when the stream takes more, or never will. */
export function roomIn(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      stream.off('error', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
    stream.once('error', done);
  });
}

function frameHeader(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  if (length < 65_536) {
    const header = Buffer.from([0x80 | opcode, 126, 0, 0]);
    header.writeUInt16BE(length, 2);
    return header;
  }
  const header = Buffer.alloc(10);
  header[0] = 0x80 | opcode;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

interface Frame {
  opcode: number;
  isLast: boolean;
  body: Buffer;
}

async function* framesOf(socket: Duplex): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const found = readFrame(rest);
      if (found === undefined) break;
      rest = rest.subarray(found.length);
      yield found.frame;
    }
  }
}

/** Undefined while a part of it is missing. */
function readFrame(bytes: Buffer): { frame: Frame; length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  // What a client sends is masked, and nothing was agreed about the reserved bits.
  if ((second & 0x80) === 0 || (first & 0x70) !== 0) throw new RangeError('a frame is not one of a WebSocket client');
  const short = second & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + extra + 4;
  if (bytes.length < start) return undefined;
  const size = extra === 0 ? short : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (size > MAX_MESSAGE) throw new RangeError(`a frame is longer than ${MAX_MESSAGE} bytes`);
  if (bytes.length < start + size) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const body = Buffer.from(bytes.subarray(start, start + size));
  for (let at = 0; at < size; at += 1) body[at] = (body[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return { frame: { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, body }, length: start + size };
}
