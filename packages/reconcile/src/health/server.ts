import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, type Logger, silentLogger } from '@capstan/kube/cluster';
import { HealthErrors } from '../errors.ts';
import type { Registry } from '../metrics/index.ts';
import { formatListenAddress, parseListenAddress } from './address.ts';
import type { Checks } from './checks.ts';
import { answerProbe } from './probe.ts';

export interface HealthServerOptions {
  /** `host:port`; `:port` for every interface; port 0 for any free one. */
  address: string;
  clock: Clock;
  /** Stops the server. */
  signal: AbortSignal;
  logger?: Logger;
  /** Served at /healthz, /livez and /readyz when given. */
  probes?: {
    /** Whether the process should continue. A failure restarts it, so check only problems that a restart heals. */
    liveness?: Checks;
    /** Whether it does its work now. */
    readiness?: Checks;
  };
  /** Served at /metrics when given. */
  metrics?: Pick<Registry, 'expose'>;
}

export interface HealthServer {
  /** Where it listens: `host:port`, with the port that was found. */
  readonly address: string;
  /** Settles when the server has stopped. */
  readonly closed: Promise<void>;
}

/** Requests that are under way when it stops have this long. */
const GRACE_MS = 1_000;

/** Serves probes and metrics; resolves when it listens, rejects when it cannot. */
export async function serveHealth(options: HealthServerOptions): Promise<HealthServer> {
  const { clock, signal, logger = silentLogger } = options;
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, (request, response) => {
    answer(options, request).then(
      (reply) => send(request, response, reply),
      (error: unknown) => {
        logger.error('a request could not be answered', { path: request.url, error });
        send(request, response, text(500, 'internal error\n'));
      },
    );
  });
  const address = await listen(server, options.address);
  // Nothing hangs on it: a socket that breaks is the other side's affair.
  server.on('error', (error) => logger.warn('problem of the health server', { error }));
  return { address, closed: closeWith(server, signal, clock) };
}

interface Reply {
  status: number;
  body: string;
  contentType: string;
  headers?: Record<string, string>;
}

async function answer(options: HealthServerOptions, request: IncomingMessage): Promise<Reply> {
  const url = URL.parse(request.url ?? '/', 'http://localhost');
  const [, path = '', only, ...rest] = (url?.pathname ?? '/').split('/');
  const serve = rest.length > 0 || url === null ? undefined : routeOf(options, path, only, request, url.searchParams);
  if (serve === undefined) return text(404, 'not found\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { ...text(405, 'only GET and HEAD are served here\n'), headers: { allow: 'GET, HEAD' } };
  }
  return serve();
}

function routeOf(
  { probes, metrics, clock, logger = silentLogger }: HealthServerOptions,
  path: string,
  only: string | undefined,
  request: IncomingMessage,
  query: URLSearchParams,
): (() => Promise<Reply>) | undefined {
  const probe =
    (checks: Checks = {}) =>
    async () => {
      const { status, body } = await answerProbe(path, only && decoded(only), query, checks, clock, logger);
      return text(status, body);
    };
  switch (path) {
    case 'healthz':
    case 'livez':
      return probes && probe(probes.liveness);
    case 'readyz':
      return probes && probe(probes.readiness);
    case 'metrics':
      if (metrics === undefined || only !== undefined) return undefined;
      return () => {
        const { contentType, body } = metrics.expose(request.headers.accept);
        return Promise.resolve({ status: 200, contentType, body });
      };
    default:
      return undefined;
  }
}

/** A badly encoded text is not the name of a check either. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function text(status: number, body: string): Reply {
  return { status, body, contentType: 'text/plain; charset=utf-8' };
}

function send(request: IncomingMessage, response: ServerResponse, { status, body, contentType, headers }: Reply): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-cache, no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function listen(server: Server, wanted: string): Promise<string> {
  const { host, port } = parseListenAddress(wanted);
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(HealthErrors.CannotListen(wanted, error)));
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.removeAllListeners('error');
      const bound = server.address() as AddressInfo;
      resolve(formatListenAddress(bound.address, bound.port));
    });
  });
}

function closeWith(server: Server, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const close = () => {
      const timer = clock.after(GRACE_MS, () => server.closeAllConnections());
      server.close(() => {
        timer.cancel();
        resolve();
      });
      server.closeIdleConnections();
    };
    if (signal.aborted) close();
    else signal.addEventListener('abort', close, { once: true });
  });
}
