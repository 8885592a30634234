// One HTTP server on one socket, with TLS where it is configured. Certificates are read again when their files change.
import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Logger, reasonOf } from '@capstan/kube';
import { SocketErrors } from '../xds/index.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

export interface Request {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
}

export interface BoundServer {
  /** `host:port`, with the port that was found. */
  readonly address: string;
  /** Requests that are under way have a second. */
  close(): Promise<void>;
}

export interface ServerPlace {
  readonly address: string;
  readonly port: number;
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
}

const GRACE_MS = 1000;

/** Resolves when it listens; rejects with a message that names the socket and the remedy. */
export async function bindServer(
  place: ServerPlace,
  answer: (request: Request) => Promise<Answer | undefined>,
  { logger }: { logger: Logger; signal: AbortSignal },
): Promise<BoundServer> {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    respond(request, response, answer).catch((error: unknown) => {
      logger.warn('a request could not be answered', { path: request.url, reason: reasonOf(error) });
      send(response, { status: 500, body: 'internal error\n' });
    });
  };
  const limits = { requestTimeout: 30_000, headersTimeout: 5000 };
  const server =
    place.tls === undefined
      ? createServer(limits, handle)
      : createTlsServer({ ...limits, ...tlsOptions(place.tls) }, handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(SocketErrors.CannotListen(place.address, place.port, error)),
    );
    server.listen({ host: place.address, port: place.port }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) => logger.warn('a server reported an error', { reason: reasonOf(error) }));
      resolve();
    });
  });
  const renewal = place.tls === undefined ? undefined : watchFiles(place.tls, server as TlsServer, logger);
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        clearInterval(renewal);
        const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: Request) => Promise<Answer | undefined>,
): Promise<void> {
  const url = URL.parse(request.url ?? '/', 'http://localhost');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    send(response, { status: 405, body: 'only GET and HEAD are served here\n' });
    return;
  }
  const found =
    url === null
      ? undefined
      : await answer({ path: url.pathname, query: url.searchParams, accept: request.headers.accept });
  send(response, found ?? { status: 404, body: 'not found\n' });
}

function send(response: ServerResponse, { status, body, contentType = 'text/plain; charset=utf-8' }: Answer): void {
  if (response.headersSent) return;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

type TlsFiles = NonNullable<ServerPlace['tls']>;

/** TLS 1.3; clients must show a certificate where there is a CA. */
function tlsOptions({ caFile = '', certFile = '', keyFile = '' }: TlsFiles) {
  const read = (file: string) => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw SocketErrors.CannotRead(file, reasonOf(error));
    }
  };
  return {
    minVersion: 'TLSv1.3' as const,
    cert: read(certFile),
    key: read(keyFile),
    ...(caFile !== '' && { ca: read(caFile), requestCert: true, rejectUnauthorized: true }),
  };
}

const CHECK_MS = 10_000;

/** Mounted Secrets are replaced by a link, which watches of files do not see reliably. */
function watchFiles(tls: TlsFiles, server: TlsServer, logger: Logger): NodeJS.Timeout {
  const stampOf = () =>
    [tls.caFile, tls.certFile, tls.keyFile]
      .map((file) => {
        try {
          return file ? statSync(file).mtimeMs : 0;
        } catch {
          return 0;
        }
      })
      .join(' ');
  let stamp = stampOf();
  const timer = setInterval(() => {
    const now = stampOf();
    if (now === stamp) return;
    try {
      server.setSecureContext(tlsOptions(tls));
      stamp = now;
      logger.info('certificates were read again', { file: tls.certFile });
    } catch (error) {
      logger.warn('certificates cannot be read; the old ones stay in use', { reason: reasonOf(error) });
    }
  }, CHECK_MS);
  timer.unref();
  return timer;
}
