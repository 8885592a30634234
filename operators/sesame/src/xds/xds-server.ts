// The xDS server: gRPC over HTTP/2, with or without mutual TLS. Every replica serves, whichever is the leader.
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type Clock, type Logger, silentLogger, systemClock } from '@capstan/kube';
import type { ResourceType } from '../envoy/index.ts';
import { XdsClients } from './clients.ts';
import { type DiscoveryMethod, openDiscoveryStream, type StreamCalls } from './discovery-stream.ts';
import { Deadlines } from './grpc/deadlines.ts';
import { SocketErrors } from './grpc/errors.ts';
import { GrpcStatus } from './grpc/grpc-stream.ts';
import { type CertificateFiles, createCertificateWatch } from './grpc/server-certificates.ts';
import { type RefusalReason, XDS_LIMITS, type XdsLimits } from './limits.ts';
import type { Refused } from './refusals/client-refusals.ts';
import { RefusedResources } from './refusals/refused-resources.ts';
import type { ResourceStore } from './resource-store.ts';
import { type Names, type NodeReport, XdsNode } from './xds-node.ts';

export interface XdsServerOptions {
  readonly store: ResourceStore;
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** Without them the server is not encrypted. */
  readonly tls?: CertificateFiles;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Other limits than XDS_LIMITS. */
  readonly limits?: Partial<XdsLimits>;
  /** The earlier refusals of clients; none by default. The server adds new ones. */
  readonly refused?: Refused;
  /** Called when a client has accepted or refused something, and when it goes away. */
  onReport?(report: NodeReport): void;
}

export interface XdsServer {
  readonly port: number;
  reports(): NodeReport[];
  /** The number of all responses. */
  readonly responseCount: number;
  statistics(): XdsStatistics;
  /** Streams end at once: they would never end by themselves. */
  close(): Promise<void>;
}

export interface XdsStatistics {
  readonly sessions: number;
  readonly streams: number;
  readonly nodes: number;
  readonly responses: Readonly<Partial<Record<ResourceType, number>>>;
  readonly bytes: Readonly<Partial<Record<ResourceType, number>>>;
  /** How many there are of each type, for any client. */
  readonly resources: Readonly<Partial<Record<ResourceType, number>>>;
  /** The number of resources that were sent although the client had not answered their dependencies. */
  readonly overdue: number;
  /** True while the kept snapshot of an earlier process is served. */
  readonly isKept: boolean;
  /** Streams that the server ended, by the reason. */
  readonly refused: Readonly<Partial<Record<RefusalReason, number>>>;
}

const TYPES: readonly ResourceType[] = ['lds', 'rds', 'vhds', 'cds', 'eds', 'sds'];

export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const { store, clock = systemClock, logger = silentLogger } = options;
  const refusals: Refused = options.refused ?? { parts: new Map(), resources: new RefusedResources() };
  const names: Names = new Map();
  const sessions = new Set<ServerHttp2Session>();
  const responses: Partial<Record<ResourceType, number>> = {};
  const bytes: Partial<Record<ResourceType, number>> = {};
  const refused: Partial<Record<RefusalReason, number>> = {};
  const limits: XdsLimits = { ...XDS_LIMITS, ...options.limits };
  const incomplete = new WeakMap<object, number>();
  const nameCharacters = new WeakMap<object, number>();
  let streams = 0;
  let overdue = 0;
  let responseCount = 0;
  let sessionCount = 0;
  let waiting: (() => void)[] = [];

  const onRefused = (reason: RefusalReason) => {
    refused[reason] = (refused[reason] ?? 0) + 1;
  };
  const closeLater = (http: ServerHttp2Stream) => void clock.after(ENDING_MS, () => http.close());
  // An error in the state of one client ends the streams of that client, which comes back and starts from the beginning.
  const contain = (node: XdsNode, call: () => void) => {
    try {
      call();
    } catch (error) {
      onRefused('error');
      logger.error('an xDS client could not be updated and was disconnected; others go on', {
        node: node.id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
      node.fail();
    }
  };
  const onOverdue = (node: XdsNode, count: number) => {
    overdue += count;
    logger.warn('an xDS client is sent what it should have waited for: it has not answered in time', {
      node: node.id,
      resources: count,
    });
  };
  const clients: XdsClients = new XdsClients((identity) => {
    const node: XdsNode = new XdsNode(
      identity,
      store,
      clock,
      () => report(node),
      refusals,
      { contain, onOverdue },
      names,
    );
    return node;
  });
  const report = (node: XdsNode) =>
    options.onReport?.(clients.shared.has(node.id) ? clients.report(node) : node.current());
  const unsubscribe = store.subscribe((changes) => {
    for (const { key, after } of changes) if (!after) refusals.resources.forget(key);
    for (const node of clients.nodes) contain(node, () => node.changed(changes));
    // To clients that waited for the first complete set nothing in it is a change.
    const now = waiting;
    waiting = [];
    for (const call of now) call();
  });

  const calls: StreamCalls = {
    logger,
    limits,
    awaited: new Deadlines(clock, limits.requestMs, (stream) => stream.timeOut()),
    addIncomplete({ session }, change) {
      if (!session) return 0;
      const sum = (incomplete.get(session) ?? 0) + change;
      incomplete.set(session, sum);
      return sum;
    },
    addNames({ session }, change) {
      if (!session) return 0;
      const sum = (nameCharacters.get(session) ?? 0) + change;
      nameCharacters.set(session, sum);
      return sum;
    },
    onRefused,
    closeLater,
    nodeOf: ({ id, place }, http, method) => {
      const session = http.session;
      const name = id === '' ? `session-${session ? (sessionIds.get(session) ?? 0) : 0}` : id;
      return clients.nodeOf({ id: name, place }, http, method);
    },
    isComplete: () => store.isComplete,
    whenComplete: (call) => (store.isComplete ? call() : waiting.push(call)),
    onSent(type, size) {
      responses[type] = (responses[type] ?? 0) + 1;
      responseCount += 1;
      bytes[type] = (bytes[type] ?? 0) + size;
    },
    onClose(node) {
      streams -= 1;
      if (!node?.isIdle || !clients.drop(node)) return;
      node.close();
      report(node);
    },
  };
  const server = createHttp2(options, limits);
  server.on('session', (session) => {
    sessions.add(session);
    sessionCount += 1;
    const id = sessionCount;
    sessionIds.set(session, id);
    const stop = keepAlive(session, clock);
    session.on('error', () => session.destroy());
    session.on('close', () => {
      stop();
      sessions.delete(session);
    });
  });
  server.on('sessionError', () => undefined);
  server.on('stream', (http: ServerHttp2Stream, headers) => {
    const method = METHODS.get(headers[':path'] ?? '');
    if (!method) {
      refuse(http, GrpcStatus.unimplemented, `there is no method ${headers[':path'] ?? ''}`);
      closeLater(http);
      return;
    }
    if (streams >= limits.streams) {
      onRefused('streams');
      refuse(http, GrpcStatus.resourceExhausted, `${streams} streams are open; no more are served`);
      closeLater(http);
      return;
    }
    streams += 1;
    openDiscoveryStream({ http, method, calls });
  });

  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(SocketErrors.CannotListen(options.address, options.port, error));
    server.once('error', fail);
    server.listen(options.port, options.address, () => {
      server.off('error', fail);
      resolve();
    });
  });

  return {
    port: (server.address() as AddressInfo).port,
    // A client that reconnects with the present versions has nothing to answer, and counts all the same.
    reports: () => clients.reports(),
    get responseCount() {
      return responseCount;
    },
    statistics: () => ({
      resources: Object.fromEntries(TYPES.map((type) => [type, store.ofType(type).size])),
      sessions: sessions.size,
      streams,
      nodes: clients.nodes.size,
      responses: { ...responses },
      bytes: { ...bytes },
      refused: { ...refused },
      isKept: store.mark !== undefined,
      overdue,
    }),
    async close() {
      unsubscribe();
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const sessionIds = new WeakMap<object, number>();

/** Time for the status of a stream to arrive before the stream is closed. */
const ENDING_MS = 1_000;
const INITIAL_WINDOW = 1024 * 1024;
/** In MB: Node counts this memory per connection, streams included; its own limit of 10 would end connections with many. */
const SESSION_MEMORY = 4_096;

function createHttp2(
  { tls, logger = silentLogger, clock = systemClock }: XdsServerOptions,
  { sessionStreams }: XdsLimits,
): Http2Server {
  const settings = { maxConcurrentStreams: sessionStreams, initialWindowSize: INITIAL_WINDOW };
  if (!tls) return createServer({ settings, maxSessionMemory: SESSION_MEMORY });
  const certificates = createCertificateWatch(tls, clock, logger);
  const server = createSecureServer({
    ...certificates.current(),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    settings,
    maxSessionMemory: SESSION_MEMORY,
  });
  // Before the handshake: files that were replaced are in force for this connection already.
  server.prependListener('connection', () => {
    const renewed = certificates.renewed();
    if (renewed) server.setSecureContext(renewed);
  });
  server.on('tlsClientError', (error: Error) => logger.debug('a client was refused', { error: error.message }));
  return server;
}

const PING_EVERY = 60_000;
const PING_TIMEOUT = 20_000;

function keepAlive(session: ServerHttp2Session, clock: Clock): () => void {
  let timer = clock.after(PING_EVERY, ping);
  function ping(): void {
    if (session.destroyed) return;
    const overdue = clock.after(PING_TIMEOUT, () => session.destroy());
    session.ping(() => overdue.cancel());
    timer = clock.after(PING_EVERY, ping);
  }
  return () => timer.cancel();
}

function refuse(stream: ServerHttp2Stream, code: GrpcStatus, message: string): void {
  const status = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message.slice(0, LONGEST_MESSAGE)) };
  stream.on('error', () => stream.close());
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
}

/** A path of the client is part of the message, and headers must not become too large. */
const LONGEST_MESSAGE = 200;

const SERVICES: readonly [path: string, type: ResourceType | undefined, method: string][] = [
  ['discovery.v3.AggregatedDiscoveryService', undefined, 'AggregatedResources'],
  ['cluster.v3.ClusterDiscoveryService', 'cds', 'Clusters'],
  ['endpoint.v3.EndpointDiscoveryService', 'eds', 'Endpoints'],
  ['listener.v3.ListenerDiscoveryService', 'lds', 'Listeners'],
  ['route.v3.RouteDiscoveryService', 'rds', 'Routes'],
  ['route.v3.VirtualHostDiscoveryService', 'vhds', 'VirtualHosts'],
  ['secret.v3.SecretDiscoveryService', 'sds', 'Secrets'],
  ['runtime.v3.RuntimeDiscoveryService', 'rtds', 'Runtime'],
];

const METHODS = new Map<string, DiscoveryMethod>(
  SERVICES.flatMap(([service, type, method]): [string, DiscoveryMethod][] => [
    [`/envoy.service.${service}/Stream${method}`, { type, isDelta: false }],
    [`/envoy.service.${service}/Delta${method}`, { type, isDelta: true }],
  ]),
);

/** The path of a method, for clients. */
export function discoveryPath(method: DiscoveryMethod): string {
  for (const [path, each] of METHODS) if (each.type === method.type && each.isDelta === method.isDelta) return path;
  throw new Error(`no method serves ${method.type ?? 'the aggregated stream'}`);
}
