// gRPC on a server's HTTP/2 stream: messages with a prefix of five bytes, a status in the trailers. An Envoy opens a stream for each
// name, tens of thousands of them: what all streams do alike is in functions that they share, and a stream has fields and no closures.
import type { ServerHttp2Stream } from 'node:http2';

export interface GrpcHandlers {
  onMessage(bytes: Buffer): void;
  onDrain(): void;
  onClose(): void;
}

export const GrpcStatus = { ok: 0, invalidArgument: 3, unimplemented: 12, internal: 13, unavailable: 14 } as const;
export type GrpcStatus = (typeof GrpcStatus)[keyof typeof GrpcStatus];

/** A request has names and versions, not resources; with 20,000 names it is about 2 MB. */
const MAX_REQUEST = 64 * 1024 * 1024;
const PREFIX = 5;
const SMALL = 16_384;
/** Bytes of a large message that are on their way before more of it is written: what other streams have to send goes in between. */
const SLICE = 256 * 1024;

export class GrpcStream {
  readonly #stream: ServerHttp2Stream;
  readonly #handlers: GrpcHandlers;
  #status: GrpcStatus = GrpcStatus.ok;
  #message = '';
  /** What has arrived of the next message. */
  #pending: Buffer | undefined;
  /** What is left to write of a large message, the last piece first. */
  #unwritten: Uint8Array[] | undefined;
  #isOpen = true;

  constructor(stream: ServerHttp2Stream, handlers: GrpcHandlers) {
    this.#stream = stream;
    this.#handlers = handlers;
    streams.set(stream, this);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', onWantTrailers);
    stream.on('data', onData);
    stream.on('drain', onDrain);
    stream.on('end', onEnd);
    stream.on('error', onError);
    stream.on('close', onClose);
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#stream.destroyed;
  }

  get needsDrain(): boolean {
    return this.#unwritten !== undefined || this.#stream.writableNeedDrain;
  }

  /** Bytes of one message, in pieces that are not copied where they are large. The next one may follow unless `needsDrain`. */
  send(pieces: readonly Uint8Array[]): void {
    const prefix = Buffer.alloc(PREFIX);
    let length = 0;
    for (const piece of pieces) length += piece.length;
    prefix.writeUInt32BE(length, 1);
    const message = [prefix, ...pieces];
    if (this.#unwritten) this.#unwritten.unshift(...message.reverse());
    else if (length < SMALL) this.#stream.write(Buffer.concat(message));
    else {
      this.#unwritten = message.reverse();
      this.#writeSlice();
    }
  }

  #writeSlice(): void {
    const unwritten = this.#unwritten;
    if (!unwritten || !this.isOpen) return;
    const stream = this.#stream;
    stream.cork();
    for (let written = 0; written < SLICE; ) {
      const piece = unwritten.pop();
      if (!piece) break;
      written += piece.length;
      const isLast = written >= SLICE || unwritten.length === 0;
      stream.write(piece, isLast ? () => this.#sliceWritten() : undefined);
    }
    stream.uncork();
  }

  #sliceWritten(): void {
    if (this.#unwritten && this.#unwritten.length > 0) {
      this.#writeSlice();
      return;
    }
    this.#unwritten = undefined;
    if (this.isOpen) this.#handlers.onDrain();
  }

  end(status: GrpcStatus, message = ''): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#status = status;
    this.#message = message;
    for (const piece of this.#unwritten?.reverse() ?? []) this.#stream.write(piece);
    this.#unwritten = undefined;
    this.#stream.end();
  }

  sendTrailers(): void {
    this.#stream.sendTrailers({
      'grpc-status': String(this.#status),
      ...(this.#message !== '' && { 'grpc-message': encodeURIComponent(this.#message) }),
    });
  }

  read(chunk: Buffer): void {
    let bytes = this.#pending ? Buffer.concat([this.#pending, chunk]) : chunk;
    this.#pending = undefined;
    while (this.#isOpen && bytes.length >= PREFIX) {
      const length = bytes.readUInt32BE(1);
      if (bytes[0] !== 0) {
        this.end(
          GrpcStatus.unimplemented,
          'compressed messages are not supported; send them with the encoding identity',
        );
        return;
      }
      if (length > MAX_REQUEST) {
        this.end(GrpcStatus.invalidArgument, `the message has ${length} bytes; at most ${MAX_REQUEST} are read`);
        return;
      }
      if (bytes.length < PREFIX + length) break;
      this.#handlers.onMessage(bytes.subarray(PREFIX, PREFIX + length));
      bytes = bytes.subarray(PREFIX + length);
    }
    if (bytes.length > 0) this.#pending = bytes;
  }

  drained(): void {
    this.#handlers.onDrain();
  }

  closed(): void {
    this.#isOpen = false;
    this.#handlers.onClose();
  }
}

const streams = new WeakMap<ServerHttp2Stream, GrpcStream>();

function onWantTrailers(this: ServerHttp2Stream): void {
  streams.get(this)?.sendTrailers();
}

function onData(this: ServerHttp2Stream, chunk: Buffer): void {
  streams.get(this)?.read(chunk);
}

function onDrain(this: ServerHttp2Stream): void {
  streams.get(this)?.drained();
}

/** The client has nothing more to say, so nothing can be acknowledged. */
function onEnd(this: ServerHttp2Stream): void {
  streams.get(this)?.end(GrpcStatus.ok);
}

function onError(this: ServerHttp2Stream): void {
  this.close();
}

function onClose(this: ServerHttp2Stream): void {
  streams.get(this)?.closed();
}
