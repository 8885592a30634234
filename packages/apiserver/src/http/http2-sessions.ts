// HTTP/2, which Go's clients choose where it is offered: all their requests and watches share one connection. Requests and responses
// have the form of HTTP/1.1's, so that everything else is the same.
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';

export interface Http2Sessions {
  /** Speaks HTTP/2 on a connection that has agreed to. */
  take(socket: TLSSocket): void;
  /** Lets requests that are under way finish, and takes no more. */
  close(): void;
  destroy(): void;
}

/** As many as kube-apiserver allows a connection. */
const MAX_STREAMS = 1_000;
/** The memory of a connection for answers that its client has yet to read. Beyond it, requests are refused. */
const MAX_MEGABYTES = 256;
const WINDOW_BYTES = 1024 * 1024;
/** As much as Go's HTTP server takes, where each header counts for 32 bytes more than it has. */
const MAX_HEADER_LIST_BYTES = 1024 * 1024 + 320;
/** Go does not count headers; the bytes limit them to about this many. */
const MAX_HEADER_PAIRS = 32_768;
/** Node.js takes the headers of a request in nine frames at most: together they are larger than headers may be. */
const MAX_FRAME_BYTES = 128 * 1024;
/** The window of all requests of a connection together: with HTTP/2's own 64 KiB, thirty small writes at once would wait for each other. */
const CONNECTION_WINDOW_BYTES = 16 * WINDOW_BYTES;

export function createHttp2Sessions(
  listener: (message: IncomingMessage, response: ServerResponse) => void,
): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  const server = createSecureServer(
    {
      Http2ServerRequest: Request,
      Http2ServerResponse: Response,
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: WINDOW_BYTES,
        maxHeaderListSize: MAX_HEADER_LIST_BYTES,
        maxFrameSize: MAX_FRAME_BYTES,
      },
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      maxSessionMemory: MAX_MEGABYTES,
    },
    (message, response) => {
      // A client that was answered before it had sent its whole body need not send the rest.
      response.once('finish', () => {
        if (!message.stream.readableEnded) message.stream.close(constants.NGHTTP2_NO_ERROR);
      });
      listener(message as unknown as IncomingMessage, response as unknown as ServerResponse);
    },
  );
  let taken: TLSSocket | undefined;
  server.on('session', (session) => {
    sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    if (taken) connections.set(session, taken);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  server.on('sessionError', () => {});
  return {
    take(socket) {
      socket.on('error', () => {});
      taken = socket;
      server.emit('secureConnection', socket);
      taken = undefined;
    },
    close() {
      for (const session of sessions) session.close();
    },
    destroy() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** The connection of each session: the object that Node.js shows instead cannot be distinguished from others. */
const connections = new WeakMap<object, TLSSocket>();

/** The members of IncomingMessage and ServerResponse that HTTP/2's own classes lack, or implement differently. */
class Request extends Http2ServerRequest {}
class Response extends Http2ServerResponse<Request> {}

Object.defineProperties(Request.prototype, {
  socket: {
    get(this: Request): TLSSocket | undefined {
      const session = this.stream.session;
      return session && connections.get(session);
    },
  },
  /** Each value of a header by itself. */
  headersDistinct: {
    get(this: Request): Record<string, string[]> {
      const distinct: Record<string, string[]> = {};
      for (let at = 0; at + 1 < this.rawHeaders.length; at += 2) {
        const values = (distinct[(this.rawHeaders[at] ?? '').toLowerCase()] ??= []);
        values.push(this.rawHeaders[at + 1] ?? '');
      }
      return distinct;
    },
  },
});
Object.defineProperties(Response.prototype, {
  destroyed: {
    get(this: Response): boolean {
      const stream = this.stream as ServerHttp2Stream | undefined;
      return stream === undefined || stream.destroyed;
    },
  },
  /** Ends the stream with an error: Node.js would end it with NO_ERROR, which clients take for the end of a whole answer. */
  destroy: {
    value(this: Response): void {
      const stream = this.stream as ServerHttp2Stream | undefined;
      if (stream === undefined || stream.destroyed) return;
      if (!stream.closed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      stream.destroy();
    },
  },
});
