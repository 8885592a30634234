// Requests that turn their connection into something else: exec, attach and port-forward, over WebSocket or SPDY/3.1. A request is
// checked first, so that a refusal is an answer like any other.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiResponse, Logger } from '@capstan/kube';
import type { UserInfo } from '../core.ts';
import { badRequest } from '../errors.ts';
import type { ApiServer } from '../server.ts';
import type { PodConnection } from '../streams/pod-connection.ts';
import {
  FORWARD_CHANNELS,
  FORWARD_PROTOCOL,
  serveForwarding,
  serveForwardingChannels,
  TUNNEL_PROTOCOL,
} from '../streams/port-forward.ts';
import {
  CHANNEL_PROTOCOLS,
  COMMAND_PROTOCOLS,
  countOf,
  serveChannels,
  serveNamedStreams,
} from '../streams/remote-command.ts';
import { type SpdyStream, serveSpdy } from '../streams/spdy-connection.ts';
import { acceptWebSocket, tunnelThrough, type WebSocket } from '../streams/web-socket.ts';

export interface UpgradeOptions {
  /** Which server a request is for, and who sends it; throws the refusal. */
  route(message: IncomingMessage): { server: ApiServer; path: string; user: UserInfo };
  refusal(error: unknown, message: IncomingMessage): ApiResponse;
  logger: Logger;
  closing: AbortSignal;
}

/** Paths whose requests may ask for an upgrade; others are answered as if they had not. */
export const isUpgradePath = (path: string): boolean => /\/pods\/[^/]+\/(exec|attach|portforward)\/?$/.test(path);

/** How long clients have to close a connection that we have ended. */
const LINGER_MS = 2_000;
/** How long a client may take to open the streams that it asked for. */
const STREAMS_MS = 30_000;

export async function handleUpgrade(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { route, refusal, logger, closing }: UpgradeOptions,
): Promise<void> {
  // Data that arrives before the stream is read must wait in it.
  socket.removeAllListeners('data');
  socket.pause();
  socket.on('error', () => {});
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const stop = () => socket.destroy();
  try {
    const { server, path, user } = route(message);
    const isWebSocket = (message.headers.upgrade ?? '').toLowerCase() === 'websocket';
    const query = new URLSearchParams((message.url ?? '').split('?', 2)[1] ?? '');
    const method = message.method === 'POST' ? 'POST' : 'GET';
    const connection = await server.connect({ method, path }, query, { user }, isWebSocket);
    const accept = isWebSocket
      ? webSocketProtocol(message, connection, socket, head)
      : spdyProtocol(message, connection, socket, head);
    closing.addEventListener('abort', stop, { once: true });
    if (closing.aborted) stop();
    await accept(AbortSignal.any([gone.signal, closing]));
  } catch (error) {
    if (socket.destroyed) return;
    if (socket.writableEnded || gone.signal.aborted) return;
    const { status, headers, body } = refusal(error, message);
    const text = `${JSON.stringify(body)}\n`;
    const length = String(Buffer.byteLength(text));
    socket.end(responseHead(status, { ...headers, connection: 'close', 'content-length': length }) + text);
  } finally {
    closing.removeEventListener('abort', stop);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    // Its end is only seen by the one who reads.
    socket.resume();
    logger.debug('a stream has ended', { path: (message.url ?? '').split('?', 1)[0] });
  }
}

/** Accepts the upgrade and serves the streams until they have ended. */
type Accept = (signal: AbortSignal) => Promise<void>;

function webSocketProtocol(message: IncomingMessage, connection: PodConnection, socket: Duplex, head: Buffer): Accept {
  if ((message.headers['sec-websocket-key'] ?? '') === '')
    throw badRequest('the request for a WebSocket has no Sec-WebSocket-Key');
  const offered = (message.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const isForward = connection.kind === 'portforward';
  const known: readonly string[] = isForward ? [TUNNEL_PROTOCOL, FORWARD_CHANNELS] : [...CHANNEL_PROTOCOLS, ''];
  const protocol = known.find((name) => offered.includes(name));
  if (protocol === undefined) throw unknownProtocol(offered, known);
  return async (signal) => {
    const web = await acceptWebSocket(message, socket, head, protocol);
    await serveWebSocket(web, connection, protocol, signal).finally(() => web.close());
  };
}

function serveWebSocket(
  web: WebSocket,
  connection: PodConnection,
  protocol: string,
  signal: AbortSignal,
): Promise<void> {
  if (connection.kind !== 'portforward') {
    return serveChannels(web, connection.wanted, protocol, connection.run, signal);
  }
  const { open, ports, pod } = connection;
  return protocol === TUNNEL_PROTOCOL
    ? serveForwarding(tunnelThrough(web), open, pod)
    : serveForwardingChannels(web, ports, open, pod);
}

function spdyProtocol(message: IncomingMessage, connection: PodConnection, socket: Duplex, head: Buffer): Accept {
  const upgrade = message.headers.upgrade ?? '';
  if (upgrade.toLowerCase() !== 'spdy/3.1') throw unknownProtocol([upgrade], ['websocket', 'SPDY/3.1']);
  const offered = (message.headersDistinct['x-stream-protocol-version'] ?? []).flatMap((value) =>
    value.split(',').map((name) => name.trim()),
  );
  const known: readonly string[] = connection.kind === 'portforward' ? [FORWARD_PROTOCOL] : COMMAND_PROTOCOLS;
  const protocol = known.find((name) => offered.includes(name));
  if (protocol === undefined) throw unknownProtocol(offered, known);
  return async (signal) => {
    const headers = { upgrade: 'SPDY/3.1', connection: 'Upgrade', 'x-stream-protocol-version': protocol };
    socket.write(responseHead(101, headers));
    if (head.length > 0) socket.unshift(head);
    if (connection.kind === 'portforward') await serveForwarding(socket, connection.open, connection.pod);
    else await serveCommand(socket, connection, signal);
    socket.end();
  };
}

async function serveCommand(
  socket: Duplex,
  { wanted, run }: Extract<PodConnection, { wanted: unknown }>,
  signal: AbortSignal,
): Promise<void> {
  const streams = new Map<string, SpdyStream>();
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const connection = serveSpdy(socket, (stream) => {
    streams.set(stream.headers.get('streamtype') ?? '', stream);
    if (streams.size === countOf(wanted)) resolve();
  });
  const timer = setTimeout(() => socket.destroy(), STREAMS_MS);
  const isComplete = await Promise.race([
    complete.then(() => true),
    connection.ended.then(
      () => false,
      () => false,
    ),
  ]);
  clearTimeout(timer);
  if (!isComplete) return;
  await serveNamedStreams(streams, run, signal);
  await connection.close();
}

const unknownProtocol = (offered: readonly string[], known: readonly string[]) =>
  badRequest(`unable to upgrade: unsupported protocols ${JSON.stringify(offered)}, known are ${JSON.stringify(known)}`);

const REASONS: Readonly<Record<number, string>> = {
  101: 'Switching Protocols',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
};

function responseHead(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n${lines.join('')}\r\n`;
}
