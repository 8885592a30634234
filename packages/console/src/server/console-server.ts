// The server of the console: loopback only, guarded, and idle until a page is open.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Clock, CodedError, isForbidden, type Logger, reasonOf } from '@capstan/kube';
import { ConsoleErrors } from '../errors.ts';
import { fileHeaders, INDEX, loadPage, type PageFile, withNonce } from '../page/page-files.ts';
import { createAccess } from './access.ts';
import { type Api, createApi } from './api.ts';
import { answerHeaders, LOGIN_PATH, LOOPBACK_NAMES, refusalOf } from './guard.ts';
import type { ConsoleSource } from './source.ts';

export interface ConsoleServerOptions {
  /** Called at the first request to the API. */
  source(): ConsoleSource | Promise<ConsoleSource>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A loopback address, or with `anywhere` any address; port 0 takes any that is free. */
  readonly host: string;
  readonly port: number;
  /** Other machines may reach the console. */
  readonly anywhere?: ServedAnywhere;
  /** The files of the page; default: the prebuilt ones, or a build of the checkout. Called at the first request for one. */
  loadFiles?(): Promise<ReadonlyMap<string, PageFile>>;
}

/** A console that other machines reach has TLS, and answers for names that it knows only. */
export interface ServedAnywhere {
  readonly certificate: string;
  readonly key: string;
  /** As in a URL: an IPv6 address has brackets. The first one is in the address that is printed. */
  readonly names: readonly string[];
}

export interface ConsoleServer {
  /** Without a code. */
  readonly url: string;
  readonly port: number;
  /** Loads the files of the page before the first request. */
  prepare(): void;
  /** A new one-time code, for `url#code=…`. */
  createCode(): string;
  /** Whether a page was opened: from then on the console follows every wave. */
  readonly isFollowing: boolean;
  close(): Promise<void>;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
/** Large enough for manifests of a few hundred objects. */
const MAX_BODY = 2 * 1024 * 1024;

export async function startConsole(options: ConsoleServerOptions): Promise<ConsoleServer> {
  const { source, clock, logger, host, loadFiles = loadPage, anywhere } = options;
  if (anywhere === undefined && !LOOPBACK.has(host)) throw ConsoleErrors.NotLoopback(host);
  const scheme = anywhere === undefined ? 'http' : 'https';
  const names = anywhere?.names ?? LOOPBACK_NAMES;
  const access = createAccess(() => clock.now());
  let api: Api | undefined;
  let opening: Promise<Api> | undefined;
  let port = options.port;
  const open = async () => {
    api = createApi(await source(), clock);
    return api;
  };
  const follow = () => {
    opening ??= open().catch((error: unknown) => {
      // The next request tries again: the cluster may answer by then.
      opening = undefined;
      throw error;
    });
    return opening;
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const url = parsed(request.url);
    const path = url?.pathname ?? '';
    const isApi = path.startsWith('/api');
    const nonce = randomBytes(16).toString('base64url');
    for (const [name, value] of Object.entries(answerHeaders(isApi, nonce))) response.setHeader(name, value);
    if (url === undefined) return answer(response, 400, { message: 'the path of the request is not valid' });
    const refusal = refusalOf({ method, path, headers }, { scheme, port, names }, access);
    if (refusal !== undefined) return answer(response, refusal.status, { message: refusal.message });
    if (path === LOGIN_PATH) return login(request, response);
    if (!isApi) return servePage(path, nonce, response);
    if (path === '/api/events' && method === 'GET') return openStream(request, response);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const opened = await follow();
    const found =
      method === 'GET'
        ? await opened.answer(path, url.searchParams, gone.signal)
        : await opened.post(path, await bodyOf(request), gone.signal);
    answer(response, found?.status ?? 404, found?.body ?? { message: `there is no ${path}` });
  }

  let page: Promise<ReadonlyMap<string, PageFile>> | undefined;
  function loaded(): Promise<ReadonlyMap<string, PageFile>> {
    page ??= loadFiles().catch((error: unknown) => {
      // The next request tries again: the user may have installed the missing part.
      page = undefined;
      throw error;
    });
    return page;
  }

  async function servePage(path: string, nonce: string, response: ServerResponse): Promise<void> {
    const files = await loaded();
    // The page reads its own paths, so that each of its views has a link.
    const found = files.get(path) ?? (path.startsWith('/assets/') ? undefined : files.get(INDEX));
    if (found === undefined) return answer(response, 404, { message: `there is no ${path}` });
    const file = found.path === INDEX ? withNonce(found, nonce) : found;
    response.writeHead(200, fileHeaders(file));
    response.end(file.bytes);
  }

  async function login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const code = (body as { code?: unknown } | undefined)?.code;
    const token = typeof code === 'string' ? access.redeem(code) : undefined;
    if (token === undefined) {
      const message = 'the code is not valid any more; open the address that capstan console --code prints';
      return answer(response, access.isBlocked ? 429 : 401, { message });
    }
    answer(response, 200, { token });
  }

  async function openStream(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { stream } = await follow();
    if (response.destroyed) return;
    const lastId = request.headers['last-event-id'];
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    const leave = stream.open(
      {
        write(text) {
          response.write(text);
          return response.writableLength;
        },
        end: () => response.destroy(),
      },
      typeof lastId === 'string' ? lastId : undefined,
    );
    response.once('close', leave);
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    void handle(request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) return;
      if (isForbidden(error)) return answer(response, 403, { message: reasonOf(error) });
      if (error instanceof CodedError) return answer(response, 503, { message: error.message });
      logger.error('the console could not answer; this is a bug', { error });
      answer(response, 500, { message: 'the console could not answer; its log has the reason' });
    });
  };
  const servers: Server[] = [];
  const listen = async (at: string) => {
    const common = { maxHeaderSize: 16 * 1024 };
    const server =
      anywhere === undefined
        ? createServer(common, onRequest)
        : createTlsServer(
            { ...common, cert: anywhere.certificate, key: anywhere.key, minVersion: 'TLSv1.2' },
            onRequest,
          );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: at, port, exclusive: true }, resolve);
    });
    servers.push(server);
    ({ port } = server.address() as AddressInfo);
  };
  const first = host === 'localhost' ? '127.0.0.1' : host;
  await listen(first);
  // A browser may look localhost up as either of the two. A machine without IPv6 has one.
  if (anywhere === undefined) await listen(first === '::1' ? '127.0.0.1' : '::1').catch(() => undefined);
  const shownName = anywhere?.names[0] ?? (first === '::1' ? '[::1]' : first);
  return {
    url: `${scheme}://${shownName}:${port}/`,
    port,
    createCode: () => access.createCode(),
    prepare() {
      // The first request for a file shows the reason.
      loaded().catch(() => undefined);
    },
    get isFollowing() {
      return api !== undefined;
    },
    async close() {
      api?.close();
      await Promise.all(
        servers.map(async (server) => {
          const closed = new Promise((resolve) => server.close(resolve));
          server.closeAllConnections();
          await closed;
        }),
      );
    },
  };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

function parsed(target: string | undefined): URL | undefined {
  // A target that is no path would name another host.
  if (target === undefined || !target.startsWith('/') || target.startsWith('//')) return undefined;
  try {
    const url = new URL(target, 'http://localhost');
    url.pathname = decodeURI(url.pathname);
    return url;
  } catch {
    return undefined;
  }
}

/** Undefined for a body that is too large or no JSON. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
