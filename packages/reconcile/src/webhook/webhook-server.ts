// A webhook as an HTTPS server: a POST to its path takes AdmissionReviews, `/livez` answers as long as it runs. Its certificate is replaced
// while it runs, without closing a connection. Any error in a review is the answer 500: the server's failurePolicy decides the result.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isRecord, type Logger, reasonOf } from '@capstan/kube/cluster';
import { guarded } from '../guard.ts';

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface WebhookServerOptions {
  /** As in `/mutate`. */
  readonly path: string;
  /** The answer to the `request` of an AdmissionReview. */
  review(request: Readonly<Record<string, unknown>>): AdmissionResponse;
  readonly host: string;
  readonly port: number;
  readonly pair: KeyPair;
  readonly logger: Logger;
}

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly patchType?: 'JSONPatch';
  readonly patch?: string;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly warnings?: readonly string[];
}

export interface WebhookServer {
  readonly port: number;
  /** From the next connection on. Throws when the two are no pair. */
  renew(pair: KeyPair): void;
  /** Resolves when running requests are answered, after some seconds at the latest. */
  close(): Promise<void>;
}

/** A pod has at most 1.5 MiB in the server's store; a review holds it once or twice. */
const LARGEST_BODY = 8 * 1024 * 1024;
const CLOSE_MS = 5_000;

export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { logger } = options;
  const secure: ServerOptions = { ...options.pair, minVersion: 'TLSv1.2', requestTimeout: 30_000 };
  const server = createServer(secure, (request, response) => {
    answer(request, options).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => {
        logger.error('a review could not be answered', { error: reasonOf(error) });
        send(response, error instanceof BadRequest ? error.status : 500);
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  server.on('error', (error) => logger.error('the webhook server has a problem', { error: reasonOf(error) }));
  return {
    port: (server.address() as AddressInfo).port,
    renew: (pair) => server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' }),
    close: () =>
      new Promise((resolve) => {
        const late = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

class BadRequest extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(request: IncomingMessage, options: WebhookServerOptions) {
  const path = (request.url ?? '').split('?')[0];
  if (path === '/livez') return { status: 200 };
  if (path !== options.path) return { status: 404 };
  if (request.method !== 'POST') return { status: 405 };
  const asked = parse(await bodyOf(request));
  const response = guarded('the review of the webhook', () =>
    options.review(isRecord(asked['request']) ? asked['request'] : {}),
  );
  const apiVersion = typeof asked['apiVersion'] === 'string' ? asked['apiVersion'] : 'admission.k8s.io/v1';
  return { status: 200, body: JSON.stringify({ apiVersion, kind: 'AdmissionReview', response }) };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // Below.
  }
  throw new BadRequest(400, 'the body is no AdmissionReview in JSON');
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > LARGEST_BODY) throw new BadRequest(413, `the body has more than ${LARGEST_BODY} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body?: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
  response.end(body);
}
