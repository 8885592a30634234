// Requests for the proxy subresource of pods and Services: passed on as they are, over a connection to the pod.
import { type IncomingMessage, request as requestOver, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { reasonOf } from '@capstan/kube';
import { serviceUnavailable } from '../errors.ts';
import type { ProxyTarget } from '../streams/proxy-target.ts';
import { drained, expectRead, type Patience } from './answer-progress.ts';

/** Headers that concern one connection only, and credentials for the API server. */
const OWN_HEADERS = new Set([
  'authorization',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Resolves when the answer is written; throws a StatusError where there is none. `rest` is the path there, with its query. */
export async function serveProxy(
  message: IncomingMessage,
  response: ServerResponse,
  target: ProxyTarget,
  rest: string,
  patience: Patience,
): Promise<void> {
  const gone = new AbortController();
  let connection: Duplex | undefined;
  response.once('close', () => {
    gone.abort();
    connection?.destroy();
  });
  let answer: IncomingMessage;
  try {
    connection = await connected(target);
    // The client may have gone while the connection was opened.
    if (response.destroyed) connection.destroy();
    answer = await asked(message, connection, target, rest, gone.signal);
  } catch (error) {
    throw serviceUnavailable(`error trying to reach service: ${reasonOf(error)}`);
  }
  response.writeHead(answer.statusCode ?? 502, withoutOwn(answer.headers));
  // A client or a pod that goes in the middle breaks the other's connection too.
  try {
    for await (const chunk of answer) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response, response, patience);
    }
  } catch {
    response.destroy();
    return;
  }
  response.end();
  expectRead(response, patience);
}

async function connected({ connect, scheme, host }: ProxyTarget): Promise<Duplex> {
  const socket = await connect();
  if (scheme === 'http') return socket;
  const [servername] = host.split(':');
  // Pods have certificates of their own making; the path to them is on this machine.
  const secure = connectTls({ socket, rejectUnauthorized: false, ...(servername !== undefined && { servername }) });
  return new Promise((resolve, reject) => {
    secure.once('secureConnect', () => resolve(secure));
    secure.once('error', reject);
  });
}

function asked(
  message: IncomingMessage,
  connection: Duplex,
  { host }: ProxyTarget,
  rest: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const forwarded = requestOver({
      createConnection: () => connection,
      method: message.method ?? 'GET',
      path: rest,
      headers: {
        host,
        ...withoutOwn(message.headers),
        'x-forwarded-uri': (message.url ?? '').split('?', 1)[0],
        'x-forwarded-host': String(message.headers[':authority'] ?? message.headers.host ?? ''),
        'x-forwarded-proto': 'https',
        connection: 'close',
      },
      signal,
    });
    forwarded.once('response', resolve);
    forwarded.once('error', reject);
    message.pipe(forwarded);
  });
}

function withoutOwn(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':') && !OWN_HEADERS.has(name)) kept[name] = value;
  }
  return kept;
}
