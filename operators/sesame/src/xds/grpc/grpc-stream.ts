// gRPC on a server's HTTP/2 stream: messages with a prefix of five bytes, a status in the trailers. An Envoy opens a stream for each name,
// tens of thousands of them. So the common behaviour is in shared functions, and a stream has fields and no closures.
import type { ServerHttp2Stream } from 'node:http2';
import { RequestBuffer } from './request-buffer.ts';

export interface GrpcHandlers {
  onMessage(bytes: Buffer): void;
  /** Called after bytes have arrived, with the number of those that belong to a message that is not complete. */
  onIncomplete(bytes: number): void;
  /** Called when bytes are not gRPC as this server reads it. */
  onMalformed(reason: 'message' | 'size', status: GrpcStatus, message: string): void;
  onDrain(): void;
  onClose(): void;
  /** A handler threw. The stream has ended; all others go on. */
  onFailure(error: unknown): void;
}

export const GrpcStatus = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;
export type GrpcStatus = (typeof GrpcStatus)[keyof typeof GrpcStatus];

const PREFIX = 5;
const SMALL = 16_384;
/** Bytes of a large message that are on their way before more of it is written: data of other streams goes in between. */
const SLICE = 256 * 1024;

export class GrpcStream {
  readonly #stream: ServerHttp2Stream;
  readonly #handlers: GrpcHandlers;
  readonly #maxRequest: number;
  #status: GrpcStatus = GrpcStatus.ok;
  #message = '';
  /** The beginning of the next message; undefined between messages. */
  #requests: RequestBuffer | undefined;
  /** The rest of a large message that is still to be written, the last buffer first. */
  #unwritten: Uint8Array[] | undefined;
  #isOpen = true;

  constructor(stream: ServerHttp2Stream, handlers: GrpcHandlers, maxRequest: number) {
    this.#stream = stream;
    this.#handlers = handlers;
    this.#maxRequest = maxRequest;
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

  /** Bytes of one message, in buffers that are not copied where they are large. The next one may follow unless `needsDrain`. */
  send(buffers: readonly Uint8Array[]): void {
    const prefix = Buffer.alloc(PREFIX);
    let length = 0;
    for (const buffer of buffers) length += buffer.length;
    prefix.writeUInt32BE(length, 1);
    const message = [prefix, ...buffers];
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
      const buffer = unwritten.pop();
      if (!buffer) break;
      written += buffer.length;
      const isLast = written >= SLICE || unwritten.length === 0;
      stream.write(buffer, isLast ? () => this.#sliceWritten() : undefined);
    }
    stream.uncork();
  }

  #sliceWritten(): void {
    if (this.#unwritten && this.#unwritten.length > 0) {
      this.#writeSlice();
      return;
    }
    this.#unwritten = undefined;
    if (this.isOpen) this.drained();
  }

  end(status: GrpcStatus, message = ''): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#status = status;
    this.#message = message;
    for (const buffer of this.#unwritten?.reverse() ?? []) this.#stream.write(buffer);
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
    if (!this.#isOpen) return;
    const requests = this.#requests ?? new RequestBuffer(this.#maxRequest);
    this.#contain(() => {
      for (const each of requests.collect(chunk)) {
        if ('message' in each) this.#handlers.onMessage(each.message);
        else if (each.problem === 'compressed')
          this.#handlers.onMalformed(
            'message',
            GrpcStatus.unimplemented,
            'compressed messages are not supported; send them with the encoding identity',
          );
        else
          this.#handlers.onMalformed(
            'size',
            GrpcStatus.resourceExhausted,
            `the message has ${each.length} bytes; at most ${this.#maxRequest} are read`,
          );
        if (!this.#isOpen) break;
      }
    });
    this.#requests = this.#isOpen && requests.incomplete > 0 ? requests : undefined;
    this.#contain(() => this.#handlers.onIncomplete(this.#requests?.incomplete ?? 0));
  }

  drained(): void {
    this.#contain(() => this.#handlers.onDrain());
  }

  closed(): void {
    this.#isOpen = false;
    this.#requests = undefined;
    this.#contain(() => this.#handlers.onClose());
  }

  /** Ends this stream alone when a handler throws: an exception in an event of a stream would end the process. */
  #contain(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#handlers.onFailure(error);
      this.end(GrpcStatus.internal, 'the server failed to handle the request; its log has the reason');
    }
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
