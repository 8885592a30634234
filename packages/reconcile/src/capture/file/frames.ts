// The bytes of a recording: a line that names the format, then frames. A frame has its length and its checksum, so that a file whose
// program was killed ends with its last whole frame.
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { crc32, zstdCompress, zstdDecompressSync } from 'node:zlib';
import { CaptureErrors } from '../errors.ts';
import { HISTORY_FORMAT, type HistoryHeader, type HistoryLine } from '../history.ts';

const compress = promisify(zstdCompress);

const MAGIC = 'CAPSTAN-RECORDING ';
const FRAME_HEAD = 8;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export interface FileHeader extends HistoryHeader {
  /** The same for all files of one start of a program. */
  readonly run: string;
  /** Counts the files of a run. */
  readonly segment: number;
  /** RFC 3339: when the file was begun. */
  readonly begun: string;
  /** The key that it is encrypted with, by a digest. */
  readonly key?: string;
}

/** A short digest of a key: it distinguishes keys, and reveals none. */
export function keyName(key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('capstan recording key\n'), key]), 'hex').slice(0, 8);
}

/** The key in a file: 32 bytes, as they are, in hex or in base64. Throws. */
export function parseKey(bytes: Uint8Array, name: string): Uint8Array {
  if (bytes.length === KEY_BYTES) return bytes;
  const text = Buffer.from(bytes).toString('latin1').trim();
  const key = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (key.length !== KEY_BYTES) throw CaptureErrors.BadKey(name);
  return key;
}

export function headBytes(header: FileHeader): Buffer {
  return Buffer.from(`${MAGIC}${JSON.stringify(header)}\n`);
}

/** A frame of lines of JSON. The compression runs outside of the main thread. */
export async function frameOf(text: string, key?: Uint8Array): Promise<Buffer> {
  const packed = await compress(Buffer.from(text));
  const payload = key === undefined ? packed : encrypted(packed, key);
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt32LE(crc32(payload), 4);
  return Buffer.concat([head, payload]);
}

function encrypted(bytes: Buffer, key: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

function decrypted(bytes: Buffer, key: Uint8Array): Buffer {
  const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES));
  cipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([cipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), cipher.final()]);
}

export interface ReadFile {
  readonly header: FileHeader;
  /** The bytes of all whole frames. */
  readonly frames: Buffer;
  /** How many bytes at the end belong to no whole frame. */
  readonly lost: number;
}

/** The parts of a file; nothing is decrypted. Throws where it is not one, or of a newer format. */
export function readFile(bytes: Buffer, name: string): ReadFile {
  const end = bytes.indexOf(10);
  const head = end < 0 ? '' : bytes.subarray(0, end).toString();
  if (!head.startsWith(MAGIC)) throw CaptureErrors.NotACapture(name);
  const header = headerOf(head.slice(MAGIC.length));
  if (header === undefined) throw CaptureErrors.NotACapture(name);
  if (header.format > HISTORY_FORMAT) throw CaptureErrors.NewerFormat(name, header.format, HISTORY_FORMAT);
  const rest = bytes.subarray(end + 1);
  let whole = 0;
  for (const frame of framesIn(rest)) whole += FRAME_HEAD + frame.length;
  return { header, frames: rest.subarray(0, whole), lost: rest.length - whole };
}

/** Undefined where the text is no header of this format, or of a newer one. */
function headerOf(text: string): FileHeader | undefined {
  try {
    const header = JSON.parse(text) as Partial<FileHeader> | null;
    if (typeof header?.format !== 'number') return undefined;
    const { operators, flags, unseen, started = '', begun = '', run } = header;
    const isKnown =
      [operators, flags, unseen].every(Array.isArray) &&
      [started, begun].every((time) => !Number.isNaN(Date.parse(time))) &&
      typeof run === 'string';
    return isKnown || header.format > HISTORY_FORMAT ? (header as FileHeader) : undefined;
  } catch {
    return undefined;
  }
}

/** Whole frames with the right checksum, up to the first that is not. */
function* framesIn(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + FRAME_HEAD <= bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const payload = bytes.subarray(at + FRAME_HEAD, at + FRAME_HEAD + length);
    if (payload.length < length || crc32(payload) !== bytes.readUInt32LE(at + 4)) return;
    yield payload;
    at += FRAME_HEAD + length;
  }
}

/** The lines of a file. Throws where the key is missing or another one. */
export function linesOf({ header, frames }: ReadFile, name: string, key: Uint8Array | undefined): HistoryLine[] {
  if (header.key !== undefined) {
    if (key === undefined) throw CaptureErrors.NoKey(name);
    if (keyName(key) !== header.key) throw CaptureErrors.WrongKey(name, header.key, keyName(key));
  }
  const lines: HistoryLine[] = [];
  for (const payload of framesIn(frames)) {
    const text = zstdDecompressSync(
      header.key === undefined ? payload : decrypted(payload, key as Uint8Array),
    ).toString();
    for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line) as HistoryLine);
  }
  return lines;
}
