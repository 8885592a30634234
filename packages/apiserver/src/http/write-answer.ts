import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { ApiResponse } from '@capstan/kube';
import { stringify } from 'yaml';
import { notAcceptableForm } from '../errors.ts';
import { isObject } from '../json/copy.ts';
import { encodeInSteps, hasProtobuf, PROTOBUF } from '../protobuf/encode.ts';
import { parseResourcePath } from '../rest/route.ts';
import { isTextStream } from '../transport.ts';
import { drained, expectRead, type Patience } from './answer-progress.ts';
import { bytesOfTexts } from './bytes-of-texts.ts';
import { listPieces, longListOf } from './list-pieces.ts';

export type Form = 'json' | 'yaml' | 'protobuf';

/** Below it the work is not worth the bytes; kube-apiserver has the same. */
const GZIP_BYTES = 128 * 1024;
const SHORT_TEXT = 16 * 1024;
/** The length above which a protobuf message is written in the pieces in which it was encoded. */
const LONG_MESSAGE = 512 * 1024;
/** Memory of an item of a list that is being written, until its text is known. */
const ITEM_BYTES = 1024;

/** The form in which the client wants its answer; throws NotAcceptable when there is none that we have. */
export function acceptedForm({ headers: { accept = '' } }: Pick<IncomingMessage, 'headers'>, path: string): Form {
  if (accept.trim() === '') return 'json';
  for (const part of accept.split(',')) {
    const type = part.split(';')[0]?.trim().toLowerCase() ?? '';
    if (type === PROTOBUF && isEncoded(part, path)) return 'protobuf';
    if (type === 'application/json' || type === '*/*' || type === 'application/*') return 'json';
    if (type === 'application/yaml') return 'yaml';
  }
  // The handler of the request refuses other forms.
  return 'json';
}

/** A refusal is a Status in any case: ranges that ask for another kind of object do not count. */
export function refusalForm(message: IncomingMessage, path: string, form: Form): Form {
  const { accept = '' } = message.headers;
  if (form !== 'protobuf' || !accept.includes('as=')) return form;
  const plain = accept.split(',').filter((range) => !/;\s*as=/.test(range));
  return acceptedForm({ headers: { accept: plain.join(',') } }, path);
}

/** Custom resources have no protobuf form, and neither has a Table; metadata alone always has one. */
function isEncoded(range: string, path: string): boolean {
  const shown = /;\s*as=(\w+)/.exec(range)?.[1];
  if (shown !== undefined) return shown.startsWith('PartialObjectMetadata') && /;\s*v=v1\s*(;|$)/.test(range);
  const place = parseResourcePath(path);
  return place !== undefined && hasProtobuf(place.group === '' ? place.version : `${place.group}/${place.version}`);
}

export interface Writing extends Patience {
  /** The JSON of a value, where it is known already. */
  jsonOf?: (value: unknown) => string | undefined;
  /** Writes JSON as YAML, in a thread where it is long; default: at once. */
  toYaml?(json: string): Promise<string>;
  /** Lets others have their turn; undefined: go on. Default: the clock's yield. */
  turn?(): Promise<void> | undefined;
  /** Waits while the client has too much to read already; undefined: go on. */
  room?(): Promise<void> | undefined;
  /** Counts bytes that the client has yet to read, until the response is closed. */
  count?(bytes: number): void;
}

/** Writes an answer to its end, in pieces and compressed where that pays. Resolves when it is written or the client gone. */
export async function writeAnswer(
  message: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ApiResponse,
  form: Form,
  writing: Writing,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  if (isTextStream(body)) {
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.flushHeaders();
    await writeText(response, body, writing);
    return;
  }
  const room = writing.room?.();
  if (room) await room;
  if (response.destroyed) return;
  const isText = typeof body === 'string' && !(headers['content-type'] ?? '').includes('json');
  response.statusCode = status;
  response.setHeader('cache-control', 'no-cache, private');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, headerText(value));
  const longList = longListOf(body);
  if (longList) writing.count?.(ITEM_BYTES * ((body as Record<string, unknown[]>)[longList] ?? []).length);
  const encoded = form === 'protobuf' && isObject(body) ? await inProtobuf(body, writing) : undefined;
  if (encoded) response.setHeader('content-type', PROTOBUF);
  if (form === 'yaml' && !isText) response.setHeader('content-type', 'application/yaml');
  const wantsGzip = /\bgzip\b/.test(message.headers['accept-encoding']?.toString() ?? '');
  if (message.method === 'HEAD' || body === undefined) {
    response.end();
    return;
  }
  if (encoded && encoded.length > 1) {
    const length = encoded.reduce((sum, piece) => sum + piece.length, 0);
    writing.count?.(length);
    if (!wantsGzip) response.setHeader('content-length', length);
    await writePieces(response, [...encoded], wantsGzip, writing);
    return;
  }
  if (form === 'yaml' && !isText && writing.toYaml) {
    const yaml = Buffer.from(await writing.toYaml(await jsonOfAnswer(body, longList, writing)));
    writing.count?.(yaml.length);
    await writePieces(response, [slicesOf(yaml)], wantsGzip, writing);
    return;
  }
  const items = form !== 'yaml' && !encoded && !isText ? longList : undefined;
  const pieces = items && listPieces(body as object, items, isPretty(message));
  const first = pieces?.next().value;
  const second = pieces?.next().value;
  if (items && first && second) {
    // The pieces that follow are about as large, and there are as many at a time.
    writing.count?.(first.length + second.length);
    await writePieces(response, [first, second, pieces], wantsGzip, writing);
    return;
  }
  const whole = encoded?.[0] ?? first ?? (isText ? body : serialised(body, form, isPretty(message), writing.jsonOf));
  // A short text goes out with its headers in one write, in one encoding, so those must be ASCII; of a long one that would be another copy
  // in V8's heap.
  const isOneWrite = whole.length <= SHORT_TEXT && Object.values(headers).every((value) => ASCII.test(value));
  const plain = typeof whole === 'string' && !isOneWrite ? Buffer.from(whole) : whole;
  const length = Buffer.byteLength(plain);
  const isLarge = wantsGzip && length >= GZIP_BYTES;
  if (isLarge) response.setHeader('content-encoding', 'gzip');
  const sent = isLarge ? await compress(Buffer.from(plain), { level: 1 }) : plain;
  response.setHeader('content-length', isLarge ? sent.length : length);
  if (!isOneWrite) writing.count?.(sent.length);
  response.end(sent);
  expectRead(response, writing);
}

/** The JSON of an answer, that of a long list in turns with other requests. */
async function jsonOfAnswer(body: unknown, longList: string | undefined, writing: Writing): Promise<string> {
  if (longList === undefined) return writing.jsonOf?.(body) ?? JSON.stringify(body);
  const pieces: Buffer[] = [];
  let size = 0;
  for (const piece of listPieces(body as object, longList)) {
    size += piece.length;
    if (size > MAX_YAML_BYTES) {
      throw notAcceptableForm(`the answer is too long to be written as YAML; ask for application/json`);
    }
    pieces.push(piece);
    await othersTurn(writing);
  }
  return Buffer.concat(pieces).toString();
}

/** The limit of the JSON: converting it takes some seconds in a thread. */
const MAX_YAML_BYTES = 8 * 1024 * 1024;
const SLICE_BYTES = 256 * 1024;

function* slicesOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

/** In pieces; the length of a message comes before it, so all of them are there before the first is written. */
async function inProtobuf(body: object, writing: Writing): Promise<readonly Uint8Array[] | undefined> {
  const encoding = encodeInSteps(body);
  for (;;) {
    const { done, value } = encoding.next();
    if (done) return value && (value.length > LONG_MESSAGE ? value.pieces() : [value.result()]);
    await othersTurn(writing);
  }
}

async function othersTurn({ clock, turn = () => clock.yield() }: Writing): Promise<void> {
  await turn();
}

/** Node writes a character of a header as one byte and refuses others; warnings are sent as UTF-8, as Go sends them. */
const headerText = (value: string) => (ASCII.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1'));
const ASCII = /^[\x20-\x7e]*$/;

/** Logs: the present output, and later output. Their source waits while the client does not read. */
async function writeText(response: ServerResponse, text: AsyncIterable<string>, patience: Patience): Promise<void> {
  for await (const piece of text) {
    if (response.destroyed) break;
    if (!response.write(piece)) await drained(response, response, patience);
  }
  response.end();
  expectRead(response, patience);
}

const compress = promisify(gzip) as (bytes: Uint8Array, options: { level: number }) => Promise<Buffer>;

function serialised(body: unknown, form: Form, pretty: boolean, jsonOf: Writing['jsonOf']): string | Buffer {
  if (form === 'yaml') return stringify(body, { aliasDuplicateObjects: false });
  if (pretty) return `${JSON.stringify(body, null, 2)}\n`;
  const json = jsonOf?.(body) ?? JSON.stringify(body);
  return json.length < SHORT_TEXT ? `${json}\n` : bytesOfTexts(json, '\n');
}

/** People who look with curl or a browser get lines that they can read. */
function isPretty({ url = '', headers }: IncomingMessage): boolean {
  const asked = /[?&]pretty=([^&]*)/.exec(url)?.[1];
  if (asked !== undefined) return asked !== 'false' && asked !== '0';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers['user-agent'] ?? '');
}

async function writePieces(
  response: ServerResponse,
  pieces: readonly (Uint8Array | Iterable<Uint8Array>)[],
  wantsGzip: boolean,
  writing: Writing,
): Promise<void> {
  if (wantsGzip) response.setHeader('content-encoding', 'gzip');
  const zip = wantsGzip ? createGzip({ level: 1 }) : undefined;
  zip?.pipe(response);
  const out = zip ?? response;
  for (const piece of flat(pieces)) {
    if (response.destroyed) break;
    if (!out.write(piece)) await drained(out, response, writing);
    await othersTurn(writing);
  }
  out.end();
  expectRead(response, writing, () => response.writableLength + (zip?.readableLength ?? 0));
}

function* flat(pieces: readonly (Uint8Array | Iterable<Uint8Array>)[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) yield piece;
    else yield* piece;
  }
}
