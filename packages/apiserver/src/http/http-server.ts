// The listener for kubectl and all other clients outside of this process: HTTP/2 and HTTP/1.1, over TLS. It reads requests into the form
// that every transport has, calls the API server, and writes its answers. Several clusters share the port: each is under /clusters/NAME,
// and the first one at the root too.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  type ApiRequest,
  type ApiResponse,
  type Clock,
  type Logger,
  type Method,
  reasonOf,
  silentLogger,
} from '@capstan/kube';
import { ANONYMOUS } from '../auth/authenticate.ts';
import { type BodyParser, createBodyParser } from '../body/body-parser.ts';
import { holdUntilRead, readBody } from '../body/read-body.ts';
import type { UserInfo } from '../core.ts';
import { ClusterErrors, methodNotAllowed, notServed, tooManyRequests } from '../errors.ts';
import { type Connections, createConnections } from '../fairness/connections.ts';
import { type ByteLimits, createHeldBytes } from '../fairness/held-bytes.ts';
import { createLoopTurns } from '../fairness/loop-turns.ts';
import {
  createRequestSlots,
  createWatchSlots,
  type LevelledSender,
  levelOf,
  RETRY_AFTER_SECONDS,
  type SlotKind,
  weightOfWatch,
} from '../fairness/request-slots.ts';
import { PROTOBUF } from '../protobuf/encode.ts';
import { isTrue } from '../rest/options.ts';
import { readQuery } from '../rest/read-query.ts';
import { type ApiServer, refusal } from '../server.ts';
import { type ProxyPath, type ProxyTarget, parseProxyPath } from '../streams/proxy-target.ts';
import { isResponse } from '../transport.ts';
import type { Patience } from './answer-progress.ts';
import { createHttp2Sessions } from './http2-sessions.ts';
import { createIdentifier } from './identify.ts';
import { serveProxy } from './proxy.ts';
import { handleUpgrade, isUpgradePath } from './upgrade.ts';
import { acceptedForm, type Form, refusalForm, type Writing, writeAnswer } from './write-answer.ts';
import { createWatchWriter } from './write-watch.ts';

export interface HttpServerOptions {
  /** The first one is at the root as well. */
  clusters: readonly { name: string; server: ApiServer }[];
  clock: Clock;
  /** Default: silent. */
  logger?: Logger;
  /** Default 127.0.0.1: this machine only. */
  host?: string;
  /** 0: any that is free. */
  port: number;
  /** PEM; without it, plain HTTP, for tests and for servers behind a proxy. */
  tls?: { certificate: string; key: string; ca: string };
  /** The limit of a request's body; default 3 MiB, as kube-apiserver. */
  bodyLimit?: number;
  /** Requests of a level that are worked on at once, watches apart; default 200 that change something and 400 that read. */
  inFlight?: { writes: number; reads: number };
  /** Watches and followed logs that a user may have open; default 10,000. Each takes some KiB. */
  maxWatches?: number;
  /** How long a request waits for others to be worked off before it is answered with 429; default 15 s. */
  queueMs?: number;
  /** How long a request may take to arrive, body included, before it is answered with 408; default 60 s. */
  requestMs?: number;
  /** How long a client may take nothing of a watch or an answer before its stream is ended; default 30 s. */
  drainMs?: number;
  /** How long a connection whose client has not shown who it is may stand idle; default 10 s. */
  anonymousIdleMs?: number;
}

export interface HttpServer {
  readonly host: string;
  readonly port: number;
  /** Takes no more requests, ends watches, lets the rest finish for a moment, and resolves when every connection is closed. */
  close(): Promise<void>;
}

const MIB = 1024 * 1024;
const DEFAULT_BODY_LIMIT = 3 * MIB;
const DEFAULT_DRAIN_MS = 30_000;
/** Longer than clients keep connections, so that it is they who close them and no request meets a closing one. */
const KEEP_ALIVE_MS = 120_000;
/** kube-apiserver gives a whole request as long. */
const REQUEST_MS = 60_000;
/**
 * The limit of the headers of a request over HTTP/1.1, including its URL: that of Go's HTTP server, which kube-apiserver does not change.
 * Tokens with many groups and selectors with many names exceed the 16 KiB of Node.js.
 */
const MAX_HEADER_BYTES = 1024 * 1024 + 4096;
const GRACE_MS = 5_000;
const MAX_WATCHES = 10_000;
const QUEUE_MS = 15_000;
/** A client that connects and does not begin to speak TLS. */
const HANDSHAKE_MS = 10_000;
/** Answers that clients have yet to read. */
const UNREAD: ByteLimits = { connection: 16 * MIB, user: 64 * MIB, level: 256 * MIB };
/** Bodies that arrive, are parsed and worked on. */
const BODIES: ByteLimits = { connection: 128 * MIB, user: 256 * MIB, level: 512 * MIB };

/** Listens; throws one of the ClusterErrors when it cannot. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { clock, logger = silentLogger, host = '127.0.0.1', tls } = options;
  const closing = new AbortController();
  const route = createRouter(options.clusters);
  const parser = createBodyParser(clock);
  // Answers have a thread of their own: those of one client must not delay the bodies of others.
  const yaml = createBodyParser(clock);
  const connections = createConnections(clock, options.anonymousIdleMs);
  const handle = requestHandler(options, { route, connections, parser, yaml, closing: closing.signal });
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // A connection that was busy when we began to close is idle now, and would be kept alive.
    response.once('close', () => {
      if (closing.signal.aborted) setImmediate(() => server.closeIdleConnections());
    });
    handle(request, response).catch((error: unknown) => {
      logger.error('a connection broke in the middle of an answer', { error });
      response.destroy();
    });
  };
  // Node looks for requests that take too long once in a while; twice within the limit is close enough.
  const checkingMs = Math.min(30_000, (options.requestMs ?? REQUEST_MS) / 2);
  const server = tls
    ? createTlsServer(
        {
          cert: tls.certificate,
          key: tls.key,
          ca: tls.ca,
          // Who comes without a certificate, or with one of another owner's, may still have a token.
          requestCert: true,
          rejectUnauthorized: false,
          minVersion: 'TLSv1.2',
          ALPNProtocols: ['h2', 'http/1.1'],
          connectionsCheckingInterval: checkingMs,
          handshakeTimeout: HANDSHAKE_MS,
          shouldUpgradeCallback: canUpgrade,
          maxHeaderSize: MAX_HEADER_BYTES,
        },
        listener,
      )
    : createServer(
        {
          connectionsCheckingInterval: checkingMs,
          shouldUpgradeCallback: canUpgrade,
          maxHeaderSize: MAX_HEADER_BYTES,
        },
        listener,
      );
  // Node.js drops headers beyond 2,000 silently.
  server.maxHeadersCount = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = options.requestMs ?? REQUEST_MS;
  // Node waits for the longer of the two.
  server.headersTimeout = server.requestTimeout;
  const http2 = createHttp2Sessions(listener);
  const watchOver = (socket: Socket) => connections.opened(socket, () => socket.destroy());
  if (tls) divide(server, http2.take, watchOver);
  else server.on('connection', watchOver);
  server.on('upgrade', (message, socket, head) => {
    handleUpgrade(message, socket, head, {
      route(request) {
        const routed = route(request);
        connections.identified(request.socket);
        return routed;
      },
      refusal: (error) => refusalOf(error, message, logger),
      logger,
      closing: closing.signal,
    }).catch((error: unknown) => {
      logger.error('a connection broke while it was a stream', { error });
      socket.destroy();
    });
  });
  const { port } = await listen(server, host, options.port);
  return {
    host,
    port,
    async close() {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      http2.close();
      const timer = clock.after(GRACE_MS, () => {
        server.closeAllConnections();
        http2.destroy();
      });
      await closed;
      timer.cancel();
      await Promise.all([parser.close(), yaml.close()]);
    },
  };
}

/** Connections that agreed to HTTP/2 go another way. */
function divide(server: Server, takeHttp2: (socket: TLSSocket) => void, watchOver: (socket: TLSSocket) => void): void {
  const others = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    watchOver(socket);
    if (socket.alpnProtocol === 'h2') takeHttp2(socket);
    else {
      for (const listener of others) listener.call(server, socket);
      readThroughStream(socket);
    }
  });
}

/**
 * Node's HTTP parser reads a TLS connection beside its stream, and stops where a large answer is still being written and the
 * next request begins. TLS records that were received already reach it nevertheless, and it closes the connection
 * (HPE_PAUSED). A listener for `data` makes the parser read from the stream, which keeps those records until it goes on.
 */
function readThroughStream(socket: TLSSocket): void {
  socket.on('data', () => {});
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const address = `${host}:${port}`;
      reject(
        error.code === 'EADDRINUSE'
          ? ClusterErrors.AddressInUse(address)
          : ClusterErrors.CannotListen(address, reasonOf(error)),
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve(server.address() as AddressInfo);
    });
  });
}

/** Finds the server that a request is for, and who sends it; throws the refusal. */
type Route = (message: IncomingMessage) => { server: ApiServer; path: string; user: UserInfo };

function createRouter(clusters: HttpServerOptions['clusters']): Route {
  const identify = createIdentifier();
  const byName = new Map(clusters.map(({ name, server }) => [name, server]));
  return (message) => {
    const whole = pathOf(message);
    const [, name, rest = '/'] = CLUSTER_PATH.exec(whole) ?? [];
    const server = name === undefined ? clusters[0]?.server : byName.get(name);
    if (!server) throw notServed();
    const path = name === undefined ? whole : rest;
    return { server, path, user: identify(message, server, path) };
  };
}

function requestHandler(
  options: HttpServerOptions,
  {
    route,
    connections,
    parser,
    yaml,
    closing,
  }: { route: Route; connections: Connections; parser: BodyParser; yaml: BodyParser; closing: AbortSignal },
) {
  const { clock, logger = silentLogger, bodyLimit = DEFAULT_BODY_LIMIT, drainMs = DEFAULT_DRAIN_MS } = options;
  const slots = createRequestSlots(clock, options.inFlight ?? { writes: 200, reads: 400 }, options.queueMs ?? QUEUE_MS);
  const turns = createLoopTurns();
  const watches = createWatchSlots(options.maxWatches ?? MAX_WATCHES);
  const unread = createHeldBytes(UNREAD);
  const bodies = createHeldBytes(BODIES);
  const writeWatch = createWatchWriter(clock, drainMs);
  const limits = { bytes: bodyLimit, ms: options.requestMs ?? REQUEST_MS, clock };

  /** Takes a slot for the request when it is its turn; undefined when its client has gone meanwhile. */
  const admit = async (sender: LevelledSender, kind: SlotKind, response: ServerResponse) => {
    const room = unread.room(sender);
    if (room) await room;
    const turn = turns.next(sender);
    if (turn) await turn;
    const entered = slots.enter(sender, kind);
    const leave = typeof entered === 'function' ? entered : await entered;
    if (!response.destroyed) return leave;
    leave();
    return undefined;
  };

  return async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { socket } = message;
    if (closing.aborted && message.httpVersionMajor < 2) response.setHeader('connection', 'close');
    connections.begin(socket, response);
    const inOrder = message.httpVersionMajor < 2 ? connections.turn(socket, response) : undefined;
    if (inOrder) await inOrder;
    if (response.destroyed) return;
    let leave: (() => void) | undefined;
    let bodyBytes = 0;
    let sender: LevelledSender = { user: ANONYMOUS.name, connection: socket, level: 'anonymous' };
    const countBody = (bytes: number) => {
      if (!bodies.hasRoom(sender)) throw tooManyRequests(RETRY_AFTER_SECONDS);
      bodyBytes += bytes;
      bodies.add(sender, bytes);
    };
    const writing = (jsonOf?: Writing['jsonOf']): Writing => ({
      clock,
      drainMs,
      ...(jsonOf && { jsonOf }),
      async toYaml(json) {
        const { value } = await yaml.parse(json, 'to-yaml', sender);
        return value as string;
      },
      turn: () => turns.next(sender),
      room: () => unread.room(sender),
      count(bytes) {
        unread.add(sender, bytes);
        response.once('close', () => unread.add(sender, -bytes));
      },
    });
    try {
      const method = METHODS[message.method ?? ''];
      if (method === undefined) throw methodNotAllowed();
      const { server, path, user } = route(message);
      sender = { user: user.name, connection: socket, level: levelOf(user) };
      if (sender.level !== 'anonymous') connections.identified(socket);
      const proxied = parseProxyPath(path);
      if (proxied) {
        const find = () => server.proxy(method, proxied, { user });
        return await passOn(message, response, proxied, find, { clock, drainMs });
      }
      const query = readQuery(message.url ?? '');
      const { accept } = message.headers;
      const form = path.startsWith('/api') && !path.endsWith('/log') ? acceptedForm(message, path) : 'json';
      const isWatch = method === 'GET' && isTrue(query, 'watch');
      const isFollowed = isTrue(query, 'follow') && path.endsWith('/log');
      const isLong = isWatch || isFollowed;
      // A body is read only for those who may send it.
      if (method !== 'GET') server.authorize({ method, path, query }, user);
      const { body, contentType, duplicates, source } = await readBody(message, method, {
        limits,
        count: countBody,
        parser,
        sender,
      });
      if (isLong) {
        leave = watches.open(sender, weightOfWatch(query));
        // Its first events may take a while.
        const turn = turns.next(sender);
        if (turn) await turn;
      } else {
        leave = await admit(sender, method === 'GET' ? 'reads' : 'writes', response);
        if (!leave) return;
      }
      const request: ApiRequest = {
        method,
        path,
        query,
        headers: headersOf(message),
        ...(body !== undefined && { body }),
        ...(contentType !== undefined && { contentType }),
        // YAML and protobuf are JSON written differently: the server itself only knows JSON.
        ...(accept !== undefined && { accept: inJson(accept, form) }),
        // A short request need not learn that its client has stopped waiting.
        ...(isLong && { signal: AbortSignal.any([goneSignal(response), closing]) }),
      };
      const answer = await server.handle(request, {
        user,
        isPaced: true,
        ...(method !== 'GET' && { isAuthorized: true }),
        ...(duplicates.length > 0 && { duplicates }),
        ...(source && { source }),
      });
      if (!isLong) leave?.();
      if (!isResponse(answer)) await writeWatch(response, answer, form === 'protobuf', writing(server.jsonOf));
      else {
        const shown = answer.status < 400 ? form : refusalForm(message, path, form);
        await writeAnswer(message, response, answer, shown, writing(server.jsonOf));
      }
    } catch (error) {
      leave?.();
      // There is nothing left to report.
      if (response.destroyed) return;
      const refused = refusalOf(error, message, logger);
      if (isCutShort(refused, message)) holdUntilRead(message, clock);
      await writeAnswer(message, response, refused, 'json', writing());
    } finally {
      // Releases the memory that a watch has held until its end; other requests have released theirs before.
      leave?.();
      if (bodyBytes > 0) bodies.add(sender, -bodyBytes);
    }
  };
}

async function passOn(
  message: IncomingMessage,
  response: ServerResponse,
  { rest }: ProxyPath,
  find: () => Promise<ProxyTarget>,
  patience: Patience,
): Promise<void> {
  const target = await find();
  const url = message.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const isRead = message.method === 'GET' || message.method === 'HEAD';
  if (rest !== '' || !isRead) return serveProxy(message, response, target, `${rest || '/'}${query}`, patience);
  // Relative links in the answer must lead back to here.
  response.writeHead(301, { location: `${pathOf(message)}/${query}` }).end();
}

/** Aborted when the client has gone. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}

const canUpgrade = (message: IncomingMessage) => isUpgradePath(pathOf(message));

const CLUSTER_PATH = /^\/clusters\/([^/]+)(\/.*)?$/;

/** HEAD is a GET whose body is not written. */
const METHODS: Readonly<Record<string, Method | undefined>> = {
  GET: 'GET',
  HEAD: 'GET',
  POST: 'POST',
  PUT: 'PUT',
  PATCH: 'PATCH',
  DELETE: 'DELETE',
};

const inJson = (accept: string, form: Form) =>
  (form === 'protobuf' ? accept.replaceAll(PROTOBUF, 'application/json') : accept).replaceAll(
    'application/yaml',
    'application/json',
  );

const pathOf = ({ url = '/' }: IncomingMessage) => url.split('?', 1)[0] ?? '/';

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const known: Record<string, string> = {};
  for (const name of ['user-agent', 'accept', 'content-type', 'if-none-match']) {
    const value = headers[name];
    if (typeof value === 'string') known[name] = value;
  }
  return known;
}

function refusalOf(error: unknown, message: IncomingMessage, logger: Logger): ApiResponse {
  const refused = refusal(error, { method: message.method ?? '', path: pathOf(message) }, logger);
  if (!isCutShort(refused, message)) return refused;
  return { ...refused, headers: { ...refused.headers, connection: 'close' } };
}

/** A body that is too large is not read to its end: over HTTP/1.1 the connection cannot be used again. */
const isCutShort = ({ status }: ApiResponse, { httpVersionMajor }: IncomingMessage) =>
  status === 413 && httpVersionMajor < 2;
