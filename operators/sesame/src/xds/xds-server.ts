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
import { type DiscoveryMethod, openDiscoveryStream, type StreamCalls } from './discovery-stream.ts';
import { SocketErrors } from './errors.ts';
import { GrpcStatus } from './grpc-stream.ts';
import type { RefusedParts } from './isolation.ts';
import type { ResourceStore } from './resource-store.ts';
import { type CertificateFiles, createCertificateWatch } from './server-certificates.ts';
import { type NodeIdentity, type NodeReport, XdsNode } from './xds-node.ts';

export interface XdsServerOptions {
  readonly store: ResourceStore;
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** Without them the server is not encrypted. */
  readonly tls?: CertificateFiles;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called when a client has accepted or refused something, and when it goes away. */
  onReport?(report: NodeReport): void;
}

export interface XdsServer {
  readonly port: number;
  reports(): NodeReport[];
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
}

export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const { store, clock = systemClock, logger = silentLogger } = options;
  const nodes = new Map<string, XdsNode>();
  const refusedParts: RefusedParts = new Map();
  const sessions = new Set<ServerHttp2Session>();
  const responses: Partial<Record<ResourceType, number>> = {};
  const bytes: Partial<Record<ResourceType, number>> = {};
  let streams = 0;
  let sessionCount = 0;
  let waiting: (() => void)[] = [];

  const report = (each: NodeReport) => options.onReport?.(each);
  const nodeOf = (identity: NodeIdentity): XdsNode => {
    let node = nodes.get(identity.id);
    if (!node) {
      node = new XdsNode(identity, store, clock, report, refusedParts);
      nodes.set(identity.id, node);
    }
    return node;
  };
  const unsubscribe = store.subscribe((changes) => {
    const now = waiting;
    waiting = [];
    for (const call of now) call();
    for (const node of nodes.values()) node.changed(changes);
  });

  const calls: StreamCalls = {
    logger,
    nodeOf: ({ id, bindAddress }, http) => {
      const session = http.session;
      return nodeOf({ id: id === '' ? `session-${session ? (sessionIds.get(session) ?? 0) : 0}` : id, bindAddress });
    },
    whenComplete: (call) => (store.isComplete ? call() : waiting.push(call)),
    onSent(type, size) {
      responses[type] = (responses[type] ?? 0) + 1;
      bytes[type] = (bytes[type] ?? 0) + size;
    },
    onClose(node) {
      streams -= 1;
      if (!node?.isIdle) return;
      node.close();
      nodes.delete(node.id);
      node.report();
    },
  };
  const server = createHttp2(options);
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
      refuse(http, `there is no method ${headers[':path'] ?? ''}`);
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
    // One that has come back with what it should have has nothing to answer, and is a client all the same.
    reports: () => [...nodes.values()].map((node) => node.current()),
    statistics: () => ({
      sessions: sessions.size,
      streams,
      nodes: nodes.size,
      responses: { ...responses },
      bytes: { ...bytes },
    }),
    async close() {
      unsubscribe();
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const sessionIds = new WeakMap<object, number>();

/** A stream per name and type: an Envoy with 10,000 clusters opens as many on one connection. */
const SETTINGS = { maxConcurrentStreams: 2 ** 20, initialWindowSize: 1024 * 1024 };
/** In MB: what Node counts per connection, streams included; its own limit of 10 would end connections with many. */
const SESSION_MEMORY = 4_096;

function createHttp2({ tls, logger = silentLogger, clock = systemClock }: XdsServerOptions): Http2Server {
  if (!tls) return createServer({ settings: SETTINGS, maxSessionMemory: SESSION_MEMORY });
  const certificates = createCertificateWatch(tls, clock, logger);
  const server = createSecureServer({
    ...certificates.current(),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    settings: SETTINGS,
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

function refuse(stream: ServerHttp2Stream, message: string): void {
  const status = { 'grpc-status': String(GrpcStatus.unimplemented), 'grpc-message': encodeURIComponent(message) };
  stream.on('error', () => stream.close());
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
}

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
