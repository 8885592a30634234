import type { ServerResponse } from 'node:http';
import type { Clock, WatchEvent, WatchStream } from '@capstan/kube';
import { encodeEvent, PROTOBUF } from '../protobuf/encode.ts';
import type { EventReader, ServedWatch } from '../watch/event-stream.ts';
import { bytesOfTexts } from './bytes-of-texts.ts';
import type { Writing } from './write-answer.ts';

const PIECE_EVENTS = 200;
const PIECE_BYTES = 256 * 1024;
const CHUNK_END = Buffer.from('\r\n');
const LARGE_BYTES = 32 * 1024;
/** The limit of kept encoded events, which watchers take within moments of each other. */
const KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Writes watches: one line of JSON for each event, or one frame of protobuf. An event for many watchers is encoded once and kept for a
 * while. A watcher that does not read is waited for; its events gather in the server's stream, which ends when they are too many, and the
 * connection is cut when it takes nothing for `drainMs`.
 */
export function createWatchWriter(clock: Clock, drainMs: number) {
  const frames = new WeakMap<Uint8Array, Uint8Array>();
  const lines = createCache(({ type, object }, jsonOf) =>
    bytesOfTexts(`{"type":${JSON.stringify(type)},"object":`, jsonOf?.(object) ?? JSON.stringify(object), '}\n'),
  );
  // Kinds without a protobuf encoding are watched as JSON. An error always has one.
  const messages = createCache(({ type, object }) => encodeEvent(type, object as object) ?? new Uint8Array());

  return (
    response: ServerResponse,
    stream: WatchStream,
    isProtobuf: boolean,
    { jsonOf, turn = () => undefined }: Pick<Writing, 'jsonOf' | 'turn'> = {},
  ): Promise<void> => {
    const contentType = isProtobuf ? `${PROTOBUF};stream=watch` : 'application/json';
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-cache, private' });
    response.flushHeaders();
    const encode = isProtobuf ? messages : (event: WatchEvent) => lines(event, jsonOf);
    return new Promise((resolve) => writeAll(response, stream, { encode, turn }, resolve));
  };

  /** By callbacks, not promises: with hundreds of watchers, the event is on its way to the first before the next is processed. */
  function writeAll(
    response: ServerResponse,
    stream: WatchStream,
    { encode, turn }: { encode: (event: WatchEvent) => Uint8Array; turn: () => Promise<void> | undefined },
    done: () => void,
  ): void {
    const iterator = stream[Symbol.asyncIterator]();
    const take = isServed(stream) ? stream.take : takeFrom(iterator);
    const leave = () => {
      void iterator.return?.();
      done();
    };
    /** In pieces: the first events of a watch may be a whole large list. */
    const write = (pieces: Iterator<Uint8Array>): void => {
      for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
        if (response.destroyed) return leave();
        // Where Node would write the length of a chunk, the chunk and its end for each watcher, one buffer is shared by all.
        const isFramed = response.chunkedEncoding && response.socket !== null && piece.value.length < LARGE_BYTES;
        const out = isFramed ? (response.socket ?? response) : response;
        if (!out.write(isFramed ? framed(piece.value) : piece.value)) {
          whenDrained(response, out, (isDrained) => (isDrained ? write(pieces) : leave()));
          return;
        }
      }
      take(reader);
    };
    const reader = {
      events(batch) {
        const writeNow = () => {
          try {
            write(piecesOf(batch, encode));
          } catch {
            reader.failed();
          }
        };
        // An event for thousands of watchers leaves other requests their turns.
        const waiting = turn();
        if (waiting) void waiting.then(writeNow);
        else writeNow();
      },
      ended() {
        response.end();
        done();
      },
      /** The stream broke, so the connection does: a client must not take it for an orderly end. */
      failed() {
        response.destroy();
        leave();
      },
    } satisfies EventReader;
    take(reader);
  }

  /** A piece as a chunk of HTTP/1.1. */
  function framed(piece: Uint8Array): Uint8Array {
    const known = frames.get(piece);
    if (known) return known;
    const frame = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CHUNK_END]);
    frames.set(piece, frame);
    return frame;
  }

  /** Calls back once; with false when the client took nothing for too long, or is gone. */
  function whenDrained(
    response: ServerResponse,
    out: NodeJS.EventEmitter,
    callback: (isDrained: boolean) => void,
  ): void {
    const done = (isDrained: boolean) => () => {
      timer.cancel();
      out.off('drain', onDrain);
      response.off('close', onClose);
      if (!isDrained) response.destroy();
      callback(isDrained);
    };
    const onDrain = done(true);
    const onClose = done(false);
    const timer = clock.after(drainMs, onClose);
    out.once('drain', onDrain);
    response.once('close', onClose);
  }
}

const isServed = (stream: WatchStream): stream is ServedWatch => 'take' in stream;

/** The same for a stream that has to be converted on its way. */
const takeFrom = (iterator: AsyncIterator<readonly WatchEvent[]>) => (reader: EventReader) => {
  iterator.next().then(
    (next) => (next.done === true ? reader.ended() : reader.events(next.value)),
    (error: unknown) => reader.failed(error),
  );
};

/** Small events are written together. A large one is written as it is: its bytes are shared by all watchers, who need no copies. */
function piecesOf(events: readonly WatchEvent[], encode: (event: WatchEvent) => Uint8Array): Iterator<Uint8Array> {
  const [only] = events;
  return only && events.length === 1 ? [encode(only)].values() : manyPiecesOf(events, encode);
}

function* manyPiecesOf(
  events: readonly WatchEvent[],
  encode: (event: WatchEvent) => Uint8Array,
): Generator<Uint8Array, void, void> {
  let piece: Uint8Array[] = [];
  let size = 0;
  for (const event of events) {
    const bytes = encode(event);
    piece.push(bytes);
    size += bytes.length;
    if (size < PIECE_BYTES && piece.length < PIECE_EVENTS) continue;
    yield* joined(piece);
    piece = [];
    size = 0;
  }
  yield* joined(piece);
}

function joined(piece: readonly Uint8Array[]): readonly Uint8Array[] {
  return piece.some(({ length }) => length >= LARGE_BYTES) || piece.length < 2 ? piece : [Buffer.concat(piece)];
}

type EncodeEvent = (event: WatchEvent, jsonOf?: Writing['jsonOf']) => Uint8Array;

/** Encodes an event once for all who watch it; the oldest are forgotten first, and encoded again for the one that is that late. */
function createCache(encode: EncodeEvent): EncodeEvent {
  const known = new Map<WatchEvent, Uint8Array>();
  let kept = 0;
  return (event, jsonOf) => {
    let bytes = known.get(event);
    if (bytes) return bytes;
    bytes = encode(event, jsonOf);
    known.set(event, bytes);
    kept += bytes.length;
    for (const [old, { length }] of known) {
      if (kept <= KEPT_BYTES) break;
      known.delete(old);
      kept -= length;
    }
    return bytes;
  };
}
