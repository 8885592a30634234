// A webhook for tests: an HTTPS server on this machine that gives the answers of the test. Only *.test.ts import it.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createCa, issueCertificate } from '@capstan/kube';

export interface ReviewRequest {
  uid: string;
  kind: { group: string; version: string; kind: string };
  resource: { group: string; version: string; resource: string };
  requestKind: { version: string };
  subResource?: string;
  name?: string;
  namespace?: string;
  operation: string;
  userInfo: { username: string; groups: string[] };
  object: { metadata: { name?: string; labels?: Record<string, string> }; [field: string]: unknown } | null;
  oldObject: { metadata: { name?: string }; [field: string]: unknown } | null;
  dryRun: boolean;
  options: Record<string, unknown>;
}

/** The answer: the response without its uid, a whole body, `hang` for never, or `drop` to end the connection. */
export type Say = (request: ReviewRequest, path: string) => object | { raw: string; status: number } | 'hang' | 'drop';

export interface WebhookServer {
  /** Everything that was asked, in order. */
  readonly asked: { path: string; host: string; apiVersion: string; request: ReviewRequest }[];
  /** Resolves when a user asks next. */
  next(): Promise<void>;
  readonly caBundle: string;
  readonly port: number;
  /** For a webhook at a path of this server. */
  at(path: string): { url: string; caBundle: string };
}

export async function webhookServer(
  t: TestContext,
  say: Say,
  { dnsNames = ['localhost'], ipAddresses = ['127.0.0.1'], host = '127.0.0.1' } = {},
): Promise<WebhookServer> {
  const now = Date.now();
  const validity = { notBefore: now - 60_000, notAfter: now + 3_600_000 };
  const ca = await createCa({ commonName: 'test authority', ...validity });
  const names = { dnsNames, ipAddresses, usages: ['server'] as const };
  const own = await issueCertificate({ ca, commonName: 'webhook', ...names, ...validity });
  const asked: WebhookServer['asked'] = [];
  let waiting: (() => void)[] = [];
  const server = createServer({ cert: own.certificate, key: own.key }, (message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        apiVersion: string;
        request: ReviewRequest;
      };
      const path = message.url ?? '';
      asked.push({ path, host: message.headers.host ?? '', apiVersion: review.apiVersion, request: review.request });
      for (const tell of waiting) tell();
      waiting = [];
      const answer = say(review.request, path);
      if (answer === 'hang') return;
      if (answer === 'drop') {
        message.socket.destroy();
        return;
      }
      if ('raw' in answer) {
        response.writeHead(answer.status).end(answer.raw);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          kind: 'AdmissionReview',
          apiVersion: review.apiVersion,
          response: { uid: review.request.uid, ...answer },
        }),
      );
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(ca.certificate).toString('base64');
  return {
    asked,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    caBundle,
    port,
    at: (path) => ({ url: `https://${host}:${port}${path}`, caBundle }),
  };
}

/** A JSON patch as a webhook answers with it. */
export const patch = (...operations: object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
