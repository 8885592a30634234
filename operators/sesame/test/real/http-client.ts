// Requests through Envoy: HTTP/1.1 with or without TLS, to a port on loopback, for any host.
import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface Answer {
  /** 0 when the connection failed. */
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

export interface RequestOptions {
  readonly port: number;
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** With TLS: the trusted authority, and the client's certificate. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string; readonly servername?: string };
}

/** Longer than any timeout that a test is about: no test hangs because of a server that does not answer. */
const PATIENCE_MS = 20_000;

export function send({
  port,
  host,
  path = '/',
  method = 'GET',
  headers = {},
  body,
  tls,
}: RequestOptions): Promise<Answer> {
  return new Promise((resolve) => {
    const common = { host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false as const };
    const sent = tls ? requestHttps({ ...common, servername: host, ...tls }) : requestHttp(common);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }));
      response.on('error', () => resolve({ status: 0, body: text, headers: {} }));
    });
    sent.setTimeout(PATIENCE_MS, () => sent.destroy());
    sent.on('error', () => resolve({ status: 0, body: '', headers: {} }));
    sent.end(body);
  });
}
