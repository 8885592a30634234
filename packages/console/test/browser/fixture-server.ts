// A server of the page whose answers a test chooses: the real files and headers, and answers by their paths.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamEvents } from '../../src/api-types.ts';
import { buildPage } from '../../src/page/build-page.ts';
import { fileHeaders, INDEX, type PageFile, withNonce } from '../../src/page/page-files.ts';
import { answerHeaders } from '../../src/server/guard.ts';

export interface Refused {
  readonly status: number;
  readonly message: string;
  readonly role?: string;
}
/** By `METHOD path` or path; the longest key that the path begins with answers. */
export type Answers = Readonly<Record<string, unknown>>;

export interface FixtureServer {
  readonly url: string;
  /** Paths of the API that were asked for, with their methods. */
  readonly asked: readonly string[];
  /** Open streams of events. */
  readonly streams: () => number;
  set(answers: Answers): void;
  send<K extends keyof StreamEvents>(type: K, data: StreamEvents[K]): void;
  /** Ends all connections and refuses new ones until `start`, as a server that restarts. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export function refused(status: number, message: string, role?: string): Refused {
  return { status, message, ...(role !== undefined && { role }) };
}

let built: Promise<readonly PageFile[]> | undefined;

export async function startFixtures(initial: Answers): Promise<FixtureServer> {
  built ??= buildPage().then(({ files }) => files);
  const files = new Map((await built).map((file) => [file.path, file]));
  let answers = initial;
  const asked: string[] = [];
  const streams = new Set<ServerResponse>();
  let sequence = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    const isApi = path.startsWith('/api');
    for (const [name, value] of Object.entries(answerHeaders(isApi, 'nonce'))) response.setHeader(name, value);
    if (!isApi) return serveFile(path, response);
    asked.push(`${request.method} ${path}`);
    if (path === '/api/events') return openStream(response);
    request.resume();
    const found = answerTo(answers, request.method ?? 'GET', path);
    const isRefused =
      found !== undefined && typeof found === 'object' && found !== null && 'status' in found && 'message' in found;
    const status = found === undefined ? 404 : isRefused ? Number(found.status) : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? { message: `there is no ${path}` }));
  };
  const serveFile = (path: string, response: ServerResponse) => {
    const file = files.get(path) ?? files.get(INDEX);
    if (file === undefined) throw new Error('the page has no document');
    const shown = file.path === INDEX ? withNonce(file, 'nonce') : file;
    response.writeHead(200, fileHeaders(shown));
    response.end(shown.bytes);
  };
  const openStream = (response: ServerResponse) => {
    streams.add(response);
    response.once('close', () => streams.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`id: epoch-${sequence}\nevent: hello\ndata: {}\n\n`);
  };
  let port = 0;
  let server = createServer(handle);
  const start = async () => {
    server = createServer(handle);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  };
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    streams: () => streams.size,
    set: (next) => {
      answers = next;
    },
    send(type, data) {
      sequence++;
      for (const stream of streams)
        stream.write(`id: epoch-${sequence}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    stop,
    start,
  };
}

function answerTo(answers: Answers, method: string, path: string): unknown {
  const target = `${method} ${decodeURIComponent(path)}`;
  const key = Object.keys(answers)
    .filter((one) => target.startsWith(one.includes(' /') ? one : `GET ${one}`))
    .sort((a, b) => b.length - a.length)[0];
  return key === undefined ? undefined : answers[key];
}
