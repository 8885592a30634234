// One of the two servers, reached over HTTPS with nothing in between: the requests are sent byte for byte as the sequence has them.
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { withoutNulls } from '../../src/json/copy.ts';
import { createProtobufDecoder } from '../../src/protobuf/decode.ts';
import { loadKubeconfigText } from './kubeconfig.ts';

export interface RawRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface RawAnswer {
  /** 0: the connection was closed without an answer. */
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

export interface OpenWatch {
  status: number;
  headers: IncomingMessage['headers'];
  /** Lines so far. */
  readonly lines: readonly string[];
  readonly ended: boolean;
  close(): void;
}

export interface ServerUnderTest {
  readonly label: string;
  send(request: RawRequest): Promise<RawAnswer>;
  watch(request: RawRequest): Promise<OpenWatch>;
  close(): void;
}

const TIMEOUT_MS = 30_000;
/** The message of Node.js for a connection that was closed in place of an answer. */
const DROPPED = 'socket hang up';

export function serverUnderTest(label: string, kubeconfig: string): ServerUnderTest {
  const { server, ca, cert, key } = loadKubeconfigText(kubeconfig);
  const { hostname, port, pathname } = new URL(server);
  const base = pathname === '/' ? '' : pathname;
  const requests = new Agent({ keepAlive: true, ca, cert, key });
  const watches = new Agent({ keepAlive: false, ca, cert, key });

  function open(raw: RawRequest, agent: Agent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const body = raw.body === undefined ? undefined : Buffer.from(raw.body);
      const headers: Record<string, string> = { 'user-agent': USER_AGENT, ...raw.headers };
      if (body) headers['content-length'] = String(body.length);
      const sent = request({ hostname, port, agent, method: raw.method, path: `${base}${raw.path}`, headers });
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`${label}: ${raw.method} ${raw.path} took too long`)));
      sent.on('response', resolve);
      sent.on('error', (error) => reject(new Error(`${label}: ${raw.method} ${raw.path}: ${error.message}`)));
      sent.end(body);
    });
  }

  return {
    label,
    async send(raw) {
      const response = await open(raw, requests).catch((error: Error) => {
        if (error.message.endsWith(DROPPED)) return undefined;
        throw error;
      });
      if (response === undefined) return { status: 0, headers: {}, text: '' };
      const bytes = await bytesOf(response);
      const isEncoded = (response.headers['content-type'] ?? '').startsWith('application/vnd.kubernetes.protobuf');
      const text = isEncoded ? JSON.stringify(withoutNulls(decoder.decode(bytes))) : bytes.toString('utf8');
      return { status: response.statusCode ?? 0, headers: response.headers, text };
    },
    async watch(raw) {
      const response = await open(raw, watches);
      const lines: string[] = [];
      let rest = '';
      let ended = false;
      response.setEncoding('utf8').on('data', (text: string) => {
        const parts = (rest + text).split('\n');
        rest = parts.pop() ?? '';
        lines.push(...parts);
      });
      response.on('close', () => {
        ended = true;
        if (rest !== '') lines.push(rest);
        rest = '';
      });
      response.on('error', () => {});
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        lines,
        get ended() {
          return ended;
        },
        close: () => response.destroy(),
      };
    },
    close() {
      requests.destroy();
      watches.destroy();
    },
  };
}

const USER_AGENT = 'differential/1.0';

/** Answers in protobuf are compared as the JSON of the same object. */
const decoder = createProtobufDecoder();

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
