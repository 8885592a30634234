// The server's side of a WebSocket: `ws` speaks the protocol, this makes a sequence of messages of it, with back-pressure in both directions.
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { type RawData, WebSocketServer, type WebSocket as WsSocket } from 'ws';

export interface WebSocket {
  /** Messages in their order, text and binary alike; they end when the client closes. A protocol error throws. */
  readonly messages: AsyncIterable<Buffer>;
  /** Sends a binary message of all parts; resolves when there is room for the next. */
  send(...parts: readonly Uint8Array[]): Promise<void>;
  /** Reports that nothing follows, and ends the connection. */
  close(code?: number, reason?: string): void;
}

/** Larger messages are refused: clients send pieces of some KiB. */
const MAX_MESSAGE = 8 * 1024 * 1024;
/** Pieces of one message; each takes some memory, even an empty one. */
const MAX_FRAGMENTS = 1_024;
/** The bytes that may wait for a slow reader, on either side. */
const MAX_WAITING = 1024 * 1024;

/** Answers the request for a WebSocket with the protocol (empty: none), and opens it. `ws` answers refused requests itself. */
export function acceptWebSocket(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocol: string,
): Promise<WebSocket> {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE,
    maxFragments: MAX_FRAGMENTS,
    handleProtocols: () => (protocol === '' ? false : protocol),
  });
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('the client closed the connection before it was a WebSocket')));
    server.handleUpgrade(message, socket, head, (web) => {
      resolve(createWebSocket(web));
      // It may have been paused while the request was checked.
      socket.resume();
    });
  });
}

function createWebSocket(web: WsSocket): WebSocket {
  return {
    messages: messagesOf(web),
    send(...parts) {
      if (web.readyState !== web.OPEN) return Promise.resolve();
      return new Promise((sent) => {
        const hasRoom = web.bufferedAmount < MAX_WAITING;
        // A failure closes the connection, which the reader of the messages notices.
        web.send(Buffer.concat(parts), { binary: true }, () => sent());
        if (hasRoom) sent();
      });
    },
    close: (code = 1000, reason = '') => web.close(code, reason),
  };
}

/** Reads no more from the connection while messages wait for their reader. */
function messagesOf(web: WsSocket): AsyncIterable<Buffer> {
  const waiting: Buffer[] = [];
  let bytes = 0;
  let failure: Error | undefined;
  let isOver = false;
  let wake = () => {};
  web.on('message', (data: RawData) => {
    const message = bytesOf(data);
    waiting.push(message);
    bytes += message.length;
    if (bytes >= MAX_WAITING || waiting.length >= MAX_FRAGMENTS) web.pause();
    wake();
  });
  web.on('error', (error: Error) => {
    failure = error;
  });
  web.once('close', () => {
    isOver = true;
    wake();
  });
  return (async function* () {
    for (;;) {
      const message = waiting.shift();
      if (message) {
        bytes -= message.length;
        if (waiting.length === 0 && web.isPaused) web.resume();
        yield message;
      } else if (failure) throw failure;
      else if (isOver) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  })();
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
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
