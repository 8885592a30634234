// HTTP with one or several registries: connections, certificates, redirects, retries and logging in. It knows nothing of
// manifests and blobs.
//
// - Loopback and private addresses may speak plain HTTP. TLS is tried first; only an answer that is no TLS at all makes
//   us go on in the clear. A certificate that is not trusted is an error everywhere.
// - A redirect to another host goes without our Authorization, and never from TLS to plain HTTP.
// - Temporary failures (no answer, 5xx, 429) are retried twice, with growing pauses. If a registry asks for a longer pause than the limit,
// its error is reported with the pause.
// - Time-outs of connections are undici's own: they guard sockets, and no logic depends on them.
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { backOff, type Clock, type Random, reasonOf, sleep, systemClock } from '@capstan/kube';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { type Authorization, createAuthorizer } from './authorizer.ts';
import { RegistryError, RegistryErrors } from './errors.ts';
import { failureOf } from './failure.ts';
import type { Keychain } from './keychain.ts';
import { allowsPlainHttp } from './reference.ts';

export interface TransportOptions {
  /** PEM of certificate authorities that are trusted beside the system's. */
  readonly caBundle?: string;
  /** The same, from a file. */
  readonly caBundlePath?: string;
  /** Default false. For tests of one's own registry only: anybody can answer then. */
  readonly skipTlsVerify?: boolean;
  /** Default capstan. */
  readonly userAgent?: string;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long nothing may come, header or body. Default 30 s. */
  readonly idleTimeoutMs?: number;
  /** The number of retries of temporary failures. Default 2. */
  readonly retries?: number;
  /** The longest pause that a registry may ask for. Default 5 s. */
  readonly maxRetryAfterMs?: number;
  /** Default: none. */
  readonly proxy?: { readonly httpProxy?: string; readonly httpsProxy?: string; readonly noProxy?: string };
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface RegistryRequest {
  readonly registry: string;
  readonly repository: string;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** From `/v2/` on, or whole, as a Location header gives it. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for every attempt. */
  readonly body?: () => AsyncIterable<Uint8Array> | Uint8Array;
  readonly access: 'pull' | 'push';
  readonly keychain: Keychain;
  readonly signal: AbortSignal | undefined;
  /** The subject in errors. */
  readonly what: string;
}

export interface RegistryResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Dispatcher.ResponseData['body'];
  /** Where it came from, to resolve a Location against. */
  readonly url: string;
}

export interface Transport {
  /** An answer with a status below 400. Throws RegistryError. */
  request(request: RegistryRequest): Promise<RegistryResponse>;
  close(): Promise<void>;
}

const MAX_REDIRECTS = 5;
const MAX_ERROR_BYTES = 64 * 1024;
const BACK_OFF = { firstMs: 200, longestMs: 5_000 };

export function createTransport(options: TransportOptions = {}): Transport {
  const { clock = systemClock, random = Math.random, retries = 2, maxRetryAfterMs = 5000 } = options;
  const { userAgent = 'capstan', idleTimeoutMs = 30_000 } = options;
  const dispatcher = createDispatcher(options);
  const authorizer = createAuthorizer({ fetch: fetchToken, clock });
  /** By registry: `https://host` or `http://host`, once it has answered. */
  const origins = new Map<string, string>();

  async function fetchToken(ask: {
    url: string;
    authorization?: string | undefined;
    form?: string | undefined;
    signal?: AbortSignal | undefined;
  }) {
    const response = await send({
      url: ask.url,
      method: ask.form === undefined ? 'GET' : 'POST',
      headers: {
        ...(ask.authorization !== undefined && { authorization: ask.authorization }),
        ...(ask.form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: ask.form,
      signal: ask.signal,
      what: `the token service ${new URL(ask.url).host}`,
    });
    return { status: response.status, body: (await bodyText(response.body)).toString('utf8') };
  }

  async function send(ask: Sent): Promise<RegistryResponse> {
    const url = new URL(ask.url);
    try {
      const { statusCode, headers, body } = await dispatcher.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: ask.method,
        headers: { 'user-agent': userAgent, ...ask.headers },
        body: ask.body ?? null,
        signal: ask.signal ?? null,
      });
      return { status: statusCode, headers, body, url: ask.url };
    } catch (error) {
      ask.signal?.throwIfAborted();
      throw connectionError(error, ask.what, idleTimeoutMs);
    }
  }

  async function originOf({ registry, signal, what }: RegistryRequest): Promise<string> {
    const known = origins.get(registry);
    if (known !== undefined) return known;
    let origin = `https://${registry}`;
    if (allowsPlainHttp(registry)) {
      try {
        const { body } = await send({ url: `${origin}/v2/`, method: 'GET', headers: {}, signal, what });
        await body.dump();
      } catch (error) {
        if (!isNotTls(error)) throw error;
        origin = `http://${registry}`;
      }
    }
    origins.set(registry, origin);
    return origin;
  }

  /**
   * A log-in that is refused before the registry demanded one for this repository proves nothing: a registry may have demanded it for
   * another repository, or earlier.
   */
  async function headerFor(authorization: Authorization, isAskedFor: boolean): Promise<string | undefined> {
    try {
      return await authorizer.headerFor(authorization);
    } catch (error) {
      if (!isAskedFor && error instanceof RegistryError && error.failure === 'unauthorized') return undefined;
      throw error;
    }
  }

  /** One attempt, with its redirects and with logging in when that is asked for. */
  async function attempt(request: RegistryRequest): Promise<RegistryResponse> {
    const { registry, repository, signal, what } = request;
    const origin = await originOf(request);
    const credentials = await request.keychain(registry, repository);
    const scope = `repository:${repository}:${request.access === 'pull' ? 'pull' : 'pull,push'}`;
    const authorization = { origin, scope, credentials, signal };
    let url = new URL(request.path, origin);
    let hasLoggedIn = false;
    for (let redirects = 0; ; ) {
      const isHome = url.origin === new URL(origin).origin;
      const header = isHome ? await headerFor(authorization, hasLoggedIn) : undefined;
      const response = await send({
        url: url.href,
        method: request.method,
        headers: { ...request.headers, ...(header !== undefined && { authorization: header }) },
        body: request.body?.() as Sent['body'],
        signal,
        what,
      });
      if (response.status === 401 && isHome && !hasLoggedIn) {
        hasLoggedIn = true;
        authorizer.forget(authorization);
        await response.body.dump();
        if (!authorizer.learn(origin, response.headers['www-authenticate']))
          throw RegistryErrors.Unauthorized(what, credentials !== undefined);
        continue;
      }
      const location = response.headers['location'];
      if (response.status < 300 || response.status >= 400 || typeof location !== 'string') return response;
      await response.body.dump();
      if (++redirects > MAX_REDIRECTS) throw RegistryErrors.Malformed(what, 'it redirects without end');
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (
        next === undefined ||
        !/^https?:$/.test(next.protocol) ||
        (url.protocol === 'https:' && next.protocol === 'http:')
      )
        throw RegistryErrors.Malformed(what, 'it redirects to where no secure connection leads');
      url = next;
    }
  }

  return {
    async request(request) {
      for (let tries = 0; ; tries++) {
        request.signal?.throwIfAborted();
        let failure: RegistryError;
        try {
          const response = await attempt(request);
          if (response.status < 400) return response;
          const hasCredentials = (await request.keychain(request.registry, request.repository)) !== undefined;
          const text = await bodyText(response.body);
          failure = failureOf(response.status, response.headers, text, request.what, hasCredentials, clock.now());
        } catch (error) {
          if (!(error instanceof RegistryError)) throw error;
          failure = error;
        }
        const { retryAfterMs = 0 } = failure;
        // A server that was silent for the whole time-out will not answer at once: report it to the caller, who may retry.
        const isSilent = failure.failure === 'timeout';
        if (!failure.isTemporary || isSilent || tries >= retries || retryAfterMs > maxRetryAfterMs) throw failure;
        await sleep(clock, backOff(tries + 1, BACK_OFF, random, retryAfterMs), request.signal);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

interface Sent {
  url: string;
  method: RegistryRequest['method'];
  headers: Record<string, string>;
  body?: Dispatcher.DispatchOptions['body'] | undefined;
  signal?: AbortSignal | undefined;
  what: string;
}

function createDispatcher(options: TransportOptions): Dispatcher {
  const bundle = [
    options.caBundle,
    options.caBundlePath === undefined ? undefined : readFileSync(options.caBundlePath, 'utf8'),
  ];
  const extra = bundle.filter((pem) => pem !== undefined);
  const connect = {
    timeout: options.connectTimeoutMs ?? 10_000,
    rejectUnauthorized: options.skipTlsVerify !== true,
    ...(extra.length > 0 && { ca: [...getCACertificates('default'), ...extra] }),
  };
  const common = {
    headersTimeout: options.idleTimeoutMs ?? 30_000,
    bodyTimeout: options.idleTimeoutMs ?? 30_000,
    allowH2: false,
    connect,
  };
  return options.proxy === undefined
    ? new Agent(common)
    : new EnvHttpProxyAgent({
        ...common,
        ...options.proxy,
        requestTls: connect,
        proxyTls: { timeout: connect.timeout },
      });
}

/** At most so many bytes of a body that is an error or a token. */
async function bodyText(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES);
}

/** Translates connection errors of undici and the system. */
export function connectionError(error: unknown, what: string, idleTimeoutMs: number): RegistryError {
  if (error instanceof RegistryError) return error;
  const code = codeOf(error);
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)) return RegistryErrors.Timeout(what, idleTimeoutMs);
  if (TLS_CODES.test(code)) return RegistryErrors.Tls(what, code, error);
  const detail = code === '' ? reasonOf(error) : code;
  return RegistryErrors.Unavailable(what, detail, undefined, error);
}

const TLS_CODES =
  /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA)/;

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the server does not speak TLS at all. A certificate that we do not trust is another matter. */
function isNotTls(error: unknown): boolean {
  const code = codeOf(error instanceof RegistryError ? error.cause : error);
  return /^(?:ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)|EPROTO|ECONNRESET|UND_ERR_SOCKET)$/.test(
    code,
  );
}
