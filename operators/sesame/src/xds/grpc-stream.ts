// gRPC on a server's HTTP/2 stream: messages with a prefix of five bytes, a status in the trailers.
import type { ServerHttp2Stream } from 'node:http2';

export interface GrpcStream {
  /** Bytes of one message, in pieces that are not copied. False when the client is slow: wait for `onDrain`. */
  send(pieces: readonly Uint8Array[]): boolean;
  readonly needsDrain: boolean;
  end(status: GrpcStatus, message?: string): void;
  readonly isOpen: boolean;
}

export interface GrpcHandlers {
  onMessage(bytes: Buffer): void;
  onDrain(): void;
  onClose(): void;
}

export const GrpcStatus = { ok: 0, invalidArgument: 3, unimplemented: 12, internal: 13, unavailable: 14 } as const;
export type GrpcStatus = (typeof GrpcStatus)[keyof typeof GrpcStatus];

/** A request has names and versions, not resources; with 20,000 names it is about 2 MB. */
const MAX_REQUEST = 64 * 1024 * 1024;

export function openGrpcStream(stream: ServerHttp2Stream, handlers: GrpcHandlers): GrpcStream {
  let trailers: Record<string, string> = { 'grpc-status': '0' };
  let pending: Buffer[] = [];
  let pendingLength = 0;
  let isOpen = true;

  const end = (status: GrpcStatus, message = '') => {
    if (!isOpen) return;
    isOpen = false;
    trailers = {
      'grpc-status': String(status),
      ...(message !== '' && { 'grpc-message': encodeURIComponent(message) }),
    };
    stream.end();
  };
  const readMessages = () => {
    if (pendingLength < PREFIX) return;
    let bytes = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending);
    while (isOpen && bytes.length >= PREFIX) {
      const length = bytes.readUInt32BE(1);
      if (bytes[0] !== 0) {
        end(GrpcStatus.unimplemented, 'compressed messages are not supported; send them with the encoding identity');
        return;
      }
      if (length > MAX_REQUEST) {
        end(GrpcStatus.invalidArgument, `the message has ${length} bytes; at most ${MAX_REQUEST} are read`);
        return;
      }
      if (bytes.length < PREFIX + length) break;
      handlers.onMessage(bytes.subarray(PREFIX, PREFIX + length));
      bytes = bytes.subarray(PREFIX + length);
    }
    pending = bytes.length > 0 ? [bytes] : [];
    pendingLength = bytes.length;
  };

  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('data', (chunk: Buffer) => {
    pending.push(chunk);
    pendingLength += chunk.length;
    readMessages();
  });
  stream.on('drain', handlers.onDrain);
  // The client has nothing more to say, so nothing can be acknowledged.
  stream.on('end', () => end(GrpcStatus.ok));
  stream.on('error', () => stream.close());
  stream.on('close', () => {
    isOpen = false;
    handlers.onClose();
  });

  return {
    get isOpen() {
      return isOpen && !stream.destroyed;
    },
    get needsDrain() {
      return stream.writableNeedDrain;
    },
    send(pieces) {
      const prefix = Buffer.alloc(PREFIX);
      let length = 0;
      for (const piece of pieces) length += piece.length;
      prefix.writeUInt32BE(length, 1);
      if (length < SMALL) return stream.write(Buffer.concat([prefix, ...pieces]));
      stream.cork();
      stream.write(prefix);
      for (const piece of pieces) stream.write(piece);
      process.nextTick(() => stream.uncork());
      return !stream.writableNeedDrain;
    },
    end,
  };
}

const PREFIX = 5;
const SMALL = 16_384;
