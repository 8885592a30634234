import type { IncomingMessage } from 'node:http';
import type { Clock, Method } from '@capstan/kube';
import type { BodySource } from '../core.ts';
import { badRequest, entityTooLarge, requestTimeout } from '../errors.ts';
import type { Sender } from '../fairness/fair-queue.ts';
import { PATCH_TYPES } from '../rest/patch.ts';
import type { BodyParser } from './body-parser.ts';
import type { TextForm } from './body-text.ts';
import type { ParsedText } from './json-text.ts';

export interface RequestBody extends Partial<ParsedText> {
  /** A JSON value; bytes where they are protobuf; undefined where there is none. */
  body?: unknown;
  contentType?: string;
  /** The objections of a strict reader. */
  duplicates: readonly string[];
  source?: BodySource;
}

export interface BodyLimits {
  readonly bytes: number;
  /** From the headers to the end. */
  readonly ms: number;
  readonly clock: Clock;
}

export interface BodyReading {
  readonly limits: BodyLimits;
  readonly count: CountBytes;
  readonly parser: BodyParser;
  readonly sender: Sender;
}

/** Counts bytes of a body against its sender; throws TooManyRequests where they are too many. */
export type CountBytes = (bytes: number) => void;

/** Smaller bodies are not counted: as many as a connection may send at once do not matter. */
const COUNTED_BYTES = 16 * 1024;
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const YAML_TYPES = new Set(['application/yaml', 'text/yaml', 'application/x-yaml', 'application/apply-patch+yaml']);
const JSON_TYPES = new Set(['application/json', PATCH_TYPES.json, PATCH_TYPES.merge, PATCH_TYPES.strategic]);

/** Reads a body to its end, within the limits, and parses it by its type. Throws the error that the client receives. */
export async function readBody(
  message: IncomingMessage,
  method: Method,
  { limits, count, parser, sender }: BodyReading,
): Promise<RequestBody> {
  if (method === 'GET') return { duplicates: [] };
  const bytes = await collect(message, limits, count);
  const contentType = message.headers['content-type'];
  const typed = { ...(contentType !== undefined && { contentType }), duplicates: [] };
  if (bytes.length === 0) return typed;
  const parsed = async (read: Buffer, form: TextForm): Promise<Pick<RequestBody, 'body' | 'duplicates' | 'source'>> => {
    const text = textOf(read);
    const { value, duplicates, problem } = await parser.parse(text, form, sender);
    if (problem !== undefined) return { duplicates: [], source: { text, problem } };
    return { body: value, duplicates, source: { text } };
  };
  const type = (contentType ?? 'application/json').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === PROTOBUF) return { ...typed, body: bytes };
  if (JSON_TYPES.has(type)) return { ...typed, ...(await parsed(bytes, 'json')) };
  if (YAML_TYPES.has(type)) return { ...typed, ...(await parsed(bytes, 'yaml')) };
  // The verb knows the types of patches that it supports, and reports others.
  if (method === 'PATCH') return typed;
  return { ...typed, source: { text: '', isUnsupported: true } };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw badRequest('the body of the request is not valid UTF-8');
  }
}

/** By listeners: an iterator of a stream takes a tenth of the time of a small write. */
function collect(
  message: IncomingMessage,
  { bytes: limit, ms, clock }: BodyLimits,
  count: CountBytes,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(message.headers['content-length'] ?? 0) > limit) {
      reject(entityTooLarge(limit));
      return;
    }
    // Node.js sees to it itself where a connection has one request at a time.
    const timer = message.httpVersionMajor < 2 ? undefined : clock.after(ms, () => reject(requestTimeout()));
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: unknown) => {
      timer?.cancel();
      message.pause().removeAllListeners('data');
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    message.on('data', (chunk: Buffer) => {
      const isCounted = size > COUNTED_BYTES;
      size += chunk.length;
      chunks.push(chunk);
      try {
        if (size > COUNTED_BYTES) count(isCounted ? chunk.length : size);
        if (size > limit) refuse(entityTooLarge(limit));
      } catch (error) {
        refuse(error);
      }
    });
    message.on('end', () => {
      timer?.cancel();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    message.on('error', reject);
    message.on('close', () => {
      timer?.cancel();
      reject(new Error('the client closed the connection in the middle of its request'));
    });
  });
}

/** Go's HTTP server waits as long before it closes such a connection; a client on the same machine needs milliseconds. */
const HOLD_MS = 500;

/**
 * Keeps an HTTP/1.1 connection open after an answer that came before the end of the body, so that the client can read the
 * answer. A socket that is closed with unread input is reset, and the answer is lost. Discards the rest of the body.
 */
export function holdUntilRead(message: IncomingMessage, clock: Clock): void {
  if (message.complete || message.destroyed) return;
  const { socket } = message;
  const close = socket.destroySoon.bind(socket);
  // Node.js calls this once the answer is written.
  socket.destroySoon = () => {
    const timer = clock.after(HOLD_MS, close);
    socket.once('close', () => timer.cancel());
    socket.end();
  };
  message.resume();
}
