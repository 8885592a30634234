// The transport over HTTP. Bodies are always read to their end or destroyed, because any other body blocks its connection for ever.
// Time-outs run on the injected clock and cover the whole exchange from the credentials to the last byte.
import { type Clock, systemClock } from '../../clock.ts';
import { withoutTrailing } from '../../errors/trailing.ts';
import { ConfigError, TransportError, type TransportErrorOptions } from '../../errors.ts';
import { failureOf } from '../failure.ts';
import { JSON_TYPE } from '../media-types.ts';
import type { ApiRequest, ApiResponse, Transport, WatchStream } from '../transport.ts';
import { createConnections } from './connections.ts';
import type { Credentials, Identity } from './credentials.ts';
import { fixedCredentials } from './credentials.ts';
import { createDeadline, type Deadline } from './deadline.ts';
import { exchange as exchangeOver, type Incoming } from './exchange.ts';
import { createWatchStream } from './watch-stream.ts';

export interface HttpTransportOptions {
  /** The server's address, with a path if the API is not at the root. User and password in it are dropped. */
  server: string;
  /** Default: no credentials, and the authorities that this machine trusts. */
  credentials?: Credentials;
  /** An http, https or socks5 URL, optionally with user and password. */
  proxyUrl?: string;
  /** Default: the system's. */
  clock?: Clock;
  /** The limit of concurrent requests without watches. Default: 64, enough to keep a server busy and few enough not to be throttled. */
  connections?: number;
  /** The time-out for creating a connection. Default: 10,000. */
  connectTimeoutMs?: number;
  /** The limit of one line of a watch, which is one object. Default: 64 MiB, far above the limit of etcd. */
  maxLineBytes?: number;
  /** The limit of one answer. Default: 512 MiB, about the longest string of V8. */
  maxResponseBytes?: number;
}

const MIB = 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 30_000;

/** Creates a transport to the server at this address. Connections are opened when they are needed. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { credentials = fixedCredentials(), clock = systemClock, maxLineBytes = 64 * MIB } = options;
  const url = new URL(options.server);
  const basePath = withoutTrailing(url.pathname, '/');
  const address = `${url.origin}${basePath}`;
  const connections = createConnections({
    origin: url.origin,
    connections: options.connections ?? 64,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    maxResponseBytes: options.maxResponseBytes ?? 512 * MIB,
    ...(options.proxyUrl !== undefined && { proxyUrl: options.proxyUrl }),
  });
  const running = new Set<Deadline>();
  let isClosed = false;

  /** Runs one exchange. Repeats it once after a 401 if there are other credentials, because the server has not executed it. */
  async function exchange<T>(
    request: ApiRequest,
    purpose: 'request' | 'watch',
    read: (answer: Incoming, deadline: Deadline, sentBytes: number, release: () => void) => Promise<Read<T>>,
  ): Promise<T> {
    // Stay outside of the try: a value that is not JSON is the caller's bug, not a failure of the wire.
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const deadline = createDeadline(clock, request.timeoutMs ?? DEFAULT_TIMEOUT_MS, request.signal);
    running.add(deadline);
    if (isClosed) deadline.end('closed');
    const release = () => {
      deadline.release();
      running.delete(deadline);
    };
    try {
      for (let isSecondTry = false; ; isSecondTry = true) {
        const current = credentials.current();
        const identity = current instanceof Promise ? await deadline.race(current) : current;
        const outgoing = {
          origin: url.origin,
          method: request.method,
          path: `${basePath}${request.path}${queryOf(request)}`,
          headers: headersOf(request, identity),
          ...(body !== undefined && { body }),
        };
        const answer = await exchangeOver(connections.for(identity.tls, purpose), outgoing, deadline);
        const { value, isOpen } = await read(answer, deadline, body?.length ?? 0, release);
        if (answer.status === 401 && !isSecondTry && (await deadline.race(credentials.refused(identity)))) continue;
        if (!isOpen) release();
        return value;
      }
    } catch (thrown) {
      release();
      throw failure(thrown, request, deadline);
    }
  }

  function failure(thrown: unknown, request: ApiRequest, deadline: Deadline): TransportError {
    const line = `${request.method} ${request.path}`;
    const fail = (kind: TransportError['kind'], more: TransportErrorOptions = {}) =>
      new TransportError(kind, address, { request: line, cause: thrown, ...more });
    if (deadline.endedBy === 'timeout') {
      const seconds = (request.timeoutMs ?? DEFAULT_TIMEOUT_MS) / 1000;
      return fail('timeout', { message: `no answer came within ${seconds} s` });
    }
    if (deadline.endedBy !== undefined) return fail(deadline.endedBy);
    if (thrown instanceof ConfigError) {
      return fail('credentials', {
        message: thrown.message.slice(0, -`; ${thrown.remedy}`.length),
        remedy: thrown.remedy,
      });
    }
    const viaProxy = options.proxyUrl === undefined ? address : `${address} (through ${hostOf(options.proxyUrl)})`;
    // The caller did not abort the request, so the proxy refused the tunnel.
    if (isProxyRefusal(thrown)) return new TransportError('proxy', viaProxy, { request: line, cause: thrown });
    return failureOf(thrown, viaProxy, request, { whileConnecting: connections.isConnectError(thrown) });
  }

  return {
    address,

    request: (request) =>
      exchange(request, 'request', async (answer, _deadline, requestBytes) => ({
        value: { ...(await readAnswer(answer, address, request)), requestBytes },
      })),

    watch: (request) =>
      exchange<WatchStream | ApiResponse>(request, 'watch', async (answer, deadline, _sentBytes, release) => {
        if (answer.status !== 200) return { value: await readAnswer(answer, address, request) };
        deadline.stopTimer();
        const failureBy = (kind: TransportError['kind'], message?: string) =>
          new TransportError(kind, address, { request: `WATCH ${request.path}`, ...(message && { message }) });
        const value = createWatchStream({
          body: answer,
          maxLineBytes,
          closed: release,
          failures: {
            tooLong: () => failureBy('too-large', `an event is larger than ${maxLineBytes} bytes`),
            malformed: () => failureBy('malformed', 'a line of the watch is not an event'),
            cut: () => failureBy('reset', 'the watch ended in the middle of an event'),
            broken: (cause) => failure(cause, request, deadline),
          },
        });
        return { value, isOpen: true };
      }),

    async close() {
      isClosed = true;
      for (const deadline of running) deadline.end('closed');
      await Promise.all([connections.close(), credentials.close()]);
    },
  };
}

/** The result of a reader, and whether the body stays open. */
interface Read<T> {
  value: T;
  isOpen?: boolean;
}

async function readAnswer(incoming: Incoming, address: string, request: ApiRequest): Promise<ApiResponse> {
  const { status, headers } = incoming;
  const bytes = await incoming.whole();
  const text = bytes.toString('utf8');
  const isJson = /^application\/(?:[^;\s]*\+)?json\b/i.test(headers['content-type'] ?? '');
  const answer = { status, headers, responseBytes: bytes.length };
  if (bytes.length === 0) return { ...answer, body: undefined };
  if (!isJson) return { ...answer, body: text };
  try {
    const parsed: unknown = JSON.parse(text);
    return { ...answer, body: parsed };
  } catch (cause) {
    // Keep the status of an error even if its body is broken.
    if (status >= 400) return { ...answer, body: text };
    throw new TransportError('malformed', address, {
      request: `${request.method} ${request.path}`,
      message: 'the answer is called JSON and does not parse',
      cause,
    });
  }
}

function queryOf({ query }: ApiRequest): string {
  // URLSearchParams would take longer than the rest of a small request.
  let text = '';
  for (const name in query)
    text += `${text === '' ? '?' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(query[name] as string)}`;
  return text;
}

function headersOf(request: ApiRequest, identity: Identity): Record<string, string | string[]> {
  return {
    accept: request.accept ?? JSON_TYPE,
    ...(request.body !== undefined && { 'content-type': request.contentType ?? JSON_TYPE }),
    ...request.headers,
    ...identity.headers,
  };
}

function hostOf(proxyUrl: string): string {
  const { protocol, host } = new URL(proxyUrl);
  return `the proxy ${protocol}//${host}`;
}

function isProxyRefusal(thrown: unknown): boolean {
  return thrown instanceof Error && /^Proxy (response|Authentication)/.test(thrown.message);
}
