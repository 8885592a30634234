// Posts reviews over TLS. Connections are kept and shared between webhooks with the same address, name and authority: the
// agent uses all of these as its key. A Service is reached by its cluster address under the name `<service>.<namespace>.svc`,
// which its certificate must carry. Failures are reported in the words of Go's HTTP client, which people search for.
import { Agent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { type Clock, reasonOf } from '@capstan/kube';
import { isObject, textAt } from '../json/copy.ts';
import { CallFailure } from './call-failure.ts';
import type { WebhookClient } from './webhook.ts';

/** Sends a review and returns the parsed answer; throws a CallFailure. */
export type CallWebhook = (client: WebhookClient, review: unknown, timeoutSeconds: number) => Promise<unknown>;

export interface WebhookCaller {
  readonly call: CallWebhook;
  /** Ends the connections that are kept. */
  close(): void;
}

/** Finds where a Service listens; throws a CallFailure. */
export type ResolveService = (namespace: string, name: string, port: number) => { host: string; port: number };

/** An answer is an object and a patch of it: more than this is none. */
const MAX_ANSWER = 16 * 1024 * 1024;

export function createWebhookCaller(clock: Clock, resolve: ResolveService): WebhookCaller {
  let agent: Agent | undefined;
  const post = (place: Place, client: WebhookClient, body: string, signal: AbortSignal) =>
    new Promise<{ status: number; text: string }>((answered, failed) => {
      agent ??= new Agent({ keepAlive: true, maxFreeSockets: 4 });
      const sent = httpsRequest({
        agent,
        method: 'POST',
        host: place.host,
        port: place.port,
        path: place.path,
        ...(isIP(place.serverName) === 0 && { servername: place.serverName }),
        ...(client.ca !== undefined && { ca: client.ca }),
        headers: {
          host: place.authority,
          accept: 'application/json, */*',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'kube-apiserver-admission',
        },
        signal,
      });
      let isAnswered = false;
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = sent.reusedSocket && !isAnswered && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        failed(isStale ? new StaleConnection(error) : error);
      });
      sent.on('response', (response) => {
        isAnswered = true;
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER) sent.destroy(new Error(`the response is larger than ${MAX_ANSWER} bytes`));
          else chunks.push(chunk);
        });
        response.on('error', failed);
        response.on('end', () =>
          answered({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      sent.end(body);
    });

  const call: CallWebhook = async (client, review, timeoutSeconds) => {
    const url = urlOf(client, timeoutSeconds);
    const fail = (why: string) => new CallFailure(`failed to call webhook: Post "${url.href}": ${why}`);
    const controller = new AbortController();
    const timer = clock.after(timeoutSeconds * 1000, () => controller.abort());
    try {
      const place = placeOf(url, client, resolve);
      const body = JSON.stringify(review);
      let answer: Awaited<ReturnType<typeof post>>;
      try {
        answer = await post(place, client, body, controller.signal);
      } catch (error) {
        // A kept connection that the other side has closed, most likely before it read the request.
        if (!(error instanceof StaleConnection) || controller.signal.aborted) throw error;
        answer = await post(place, client, body, controller.signal);
      }
      if (answer.status < 200 || answer.status > 206)
        throw new CallFailure(`failed to call webhook: ${httpProblem(answer)}`);
      return parse(answer.text);
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      if (error instanceof ResolveFailure) throw fail(error.message);
      if (controller.signal.aborted) throw fail('context deadline exceeded');
      throw fail(problemOf(error instanceof StaleConnection ? error.cause : error, url.hostname));
    } finally {
      timer.cancel();
    }
  };
  return { call, close: () => agent?.destroy() };
}

/** The Service cannot be reached by any address. */
export class ResolveFailure extends Error {
  override readonly name = 'ResolveFailure';
}

class StaleConnection extends Error {
  constructor(cause: unknown) {
    super('a kept connection was closed', { cause });
  }
}

interface Place {
  host: string;
  port: number;
  path: string;
  /** As in the Host header. */
  authority: string;
  serverName: string;
}

function urlOf(
  { url, service }: WebhookClient,
  timeoutSeconds: number,
): { href: string } & Omit<Place, 'host'> & { hostname: string } {
  const query = `timeout=${timeoutSeconds}s`;
  if (service) {
    const hostname = `${service.name}.${service.namespace}.svc`;
    const path = service.path.startsWith('/') ? service.path : `/${service.path}`;
    const authority = `${hostname}:${service.port}`;
    return {
      href: `https://${authority}${path}?${query}`,
      hostname,
      serverName: hostname,
      authority,
      port: service.port,
      path: `${path}?${query}`,
    };
  }
  const given = URL.parse(url ?? '');
  if (given?.protocol !== 'https:') throw new CallFailure(`failed to call webhook: "${url}" is no https URL`);
  const hostname = given.hostname.replace(/^\[|\]$/g, '');
  const path = `${given.pathname}?${query}`;
  return {
    href: `https://${given.host}${path}`,
    hostname,
    serverName: hostname,
    authority: given.host,
    port: given.port === '' ? 443 : Number(given.port),
    path,
  };
}

function placeOf(url: ReturnType<typeof urlOf>, { service }: WebhookClient, resolve: ResolveService): Place {
  const { path, authority, serverName, port } = url;
  const at = service ? resolve(service.namespace, service.name, port) : { host: url.hostname, port };
  return { ...at, path, authority, serverName };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CallFailure("failed to call webhook: couldn't get version/kind; the response is not JSON");
  }
}

function httpProblem({ status, text }: { status: number; text: string }): string {
  const said = text.trim().slice(0, 2048);
  try {
    const body: unknown = JSON.parse(said);
    if (isObject(body) && body['kind'] === 'Status' && textAt(body, ['message']) !== '')
      return textAt(body, ['message']);
  } catch {
    // Plain text then.
  }
  switch (status) {
    case 400:
      return `the server rejected our request for an unknown reason`;
    case 401:
      return 'the server has asked for the client to provide credentials';
    case 403:
      return said === '' ? 'forbidden' : said;
    case 404:
      return 'the server could not find the requested resource';
    case 405:
      return 'the server does not allow this method on the requested resource';
    case 429:
      return 'the server has received too many requests and has asked us to try again later';
    case 503:
      return 'the server is currently unable to handle the request';
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request';
    default:
      return status >= 500
        ? `an error on the server (${JSON.stringify(said === '' ? 'unknown' : said)}) has prevented the request from succeeding`
        : `the server responded with the status code ${status} but did not return more information`;
  }
}

const UNKNOWN_AUTHORITY = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

function problemOf(error: unknown, serverName: string): string {
  if (!(error instanceof Error)) return reasonOf(error);
  const { code, address, port, cert } = error as Error & {
    code?: string;
    address?: string;
    port?: number;
    cert?: { subjectaltname?: string };
  };
  const tls = 'tls: failed to verify certificate: x509: ';
  if (code !== undefined && UNKNOWN_AUTHORITY.has(code)) return `${tls}certificate signed by unknown authority`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return `${tls}certificate has expired or is not yet valid`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (cert?.subjectaltname ?? '').replaceAll(/(DNS|IP Address):/g, '');
    return names === ''
      ? `${tls}certificate is not valid for any names, but wanted to match ${serverName}`
      : `${tls}certificate is valid for ${names}, not ${serverName}`;
  }
  if (code === 'ECONNREFUSED') return `dial tcp ${address}:${port}: connect: connection refused`;
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${serverName}: no such host`;
  if (code === 'ECONNRESET') return 'EOF';
  return error.message;
}
