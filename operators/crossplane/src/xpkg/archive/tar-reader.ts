// A reader of tar archives from untrusted sources: ustar, pax and GNU long names, one entry at a time, keeping only the requested content.
// It never writes a file. The remaining danger is a lying archive: names that climb out of the root, sizes that do not fit, headers without
// end. All of these are refused with a PackageError. A link is reported as a link, and the caller must refuse its target.

import { PackageErrors } from '../errors.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';

export interface TarEntry {
  /** Without `./` or `/` at its start and without a slash at its end; no segment is empty, `.` or `..`. */
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly linkName: string;
  /** Where its content begins in the archive, for the one that comes back for it. */
  readonly offset: number;
  /** Content that is not read before the next entry is requested is skipped. */
  content(): AsyncGenerator<Buffer>;
}

export interface TarLimits {
  /** Entries, headers of long names included. Default 200 000. */
  readonly maxEntries?: number;
  /** Bytes of a name or of all pax records of an entry. Default 64 KiB. */
  readonly maxHeaderBytes?: number;
}

const BLOCK = 512;

/** The entries of an archive. The source is read to its end, so that the caller can check its digest. */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  { maxEntries = 200_000, maxHeaderBytes = 65_536 }: TarLimits = {},
): AsyncGenerator<TarEntry> {
  const source = createByteSource(chunks);
  let extra: Extra = {};
  let entries = 0;
  try {
    for (;;) {
      const block = await source.take(BLOCK);
      if (block.length === 0) break;
      if (block.length < BLOCK) throw PackageErrors.Truncated('in the middle of a header');
      if (isZero(block)) break;
      if (++entries > maxEntries) throw PackageErrors.Hostile(`it has more than ${maxEntries} entries`);
      const header = readHeader(block);
      if (isExtra(header.typeFlag)) {
        extra = { ...extra, ...(await readExtra(source, header, maxHeaderBytes)) };
        continue;
      }
      const type = extra.isSparse ? 'other' : typeOf(header.typeFlag);
      // Links and folders have no content whatever their size field contains; neither have devices and pipes (3, 4, 6).
      const hasContent = type === 'file' || (type === 'other' && !/[346]/.test(header.typeFlag));
      const size = hasContent ? (extra.size ?? header.size) : 0;
      const body = createBody(source, size);
      yield {
        name: checkedName(extra.path ?? header.name),
        type,
        size,
        mode: header.mode,
        linkName: extra.linkPath ?? header.linkName,
        offset: source.position,
        content: body.read,
      };
      await body.skip();
      extra = {};
    }
    await source.drain();
  } finally {
    await source.close();
  }
}

interface Header {
  name: string;
  mode: number;
  size: number;
  typeFlag: string;
  linkName: string;
}

/** The facts about an entry from the entries before it. */
interface Extra {
  path?: string;
  linkPath?: string;
  size?: number;
  isSparse?: boolean;
}

function readHeader(block: Buffer): Header {
  const stated = numberIn(block, 148, 8, 'checksum');
  let sum = 0;
  let signedSum = 0;
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= 148 && i < 156 ? 32 : (block[i] ?? 0);
    sum += byte;
    // Some old archivers added signed bytes.
    signedSum += byte > 127 ? byte - 256 : byte;
  }
  if (stated !== sum && stated !== signedSum) throw PackageErrors.BadArchive('a header does not match its checksum');
  const isUstar = block.toString('latin1', 257, 262) === 'ustar';
  // GNU's magic has blanks where POSIX has a version, and other fields where POSIX has the prefix.
  const isPosix = isUstar && block.toString('latin1', 262, 263) === '\0';
  const prefix = isPosix ? textIn(block, 345, 155) : '';
  const name = textIn(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: numberIn(block, 100, 8, 'mode') & 0o7777,
    size: numberIn(block, 124, 12, 'size'),
    typeFlag: block.toString('latin1', 156, 157),
    linkName: textIn(block, 157, 100),
  };
}

function isExtra(typeFlag: string): boolean {
  return typeFlag === 'x' || typeFlag === 'g' || typeFlag === 'L' || typeFlag === 'K';
}

async function readExtra(source: ByteSource, { typeFlag, size }: Header, maxBytes: number): Promise<Extra> {
  if (size > maxBytes) throw PackageErrors.Hostile(`a header of ${size} bytes`);
  const padded = await source.take(paddedSize(size));
  if (padded.length < paddedSize(size)) throw PackageErrors.Truncated('in the middle of a header');
  const body = padded.subarray(0, size);
  if (typeFlag === 'L') return { path: untilZero(body) };
  if (typeFlag === 'K') return { linkPath: untilZero(body) };
  // Records of type g would hold for all later entries. They never contain fields that we read.
  return typeFlag === 'g' ? {} : readPaxRecords(body);
}

// A record is `LENGTH KEY=VALUE\n`, its length counted in bytes with the digits of the length itself.
function readPaxRecords(body: Buffer): Extra {
  const extra: Extra = {};
  let at = 0;
  while (at < body.length) {
    const blank = body.indexOf(0x20, at);
    const digits = blank === -1 ? '' : body.toString('latin1', at, blank);
    const length = /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : 0;
    const end = at + length;
    const equals = body.indexOf(0x3d, blank);
    if (length === 0 || end > body.length || equals === -1 || equals >= end || body[end - 1] !== 0x0a)
      throw PackageErrors.BadArchive('a pax record is malformed');
    const key = body.toString('utf8', blank + 1, equals);
    const value = body.toString('utf8', equals + 1, end - 1);
    if (key === 'path') extra.path = value;
    else if (key === 'linkpath') extra.linkPath = value;
    else if (key === 'size') extra.size = paxSize(value);
    else if (key.startsWith('GNU.sparse.')) extra.isSparse = true;
    at = end;
  }
  return extra;
}

function paxSize(value: string): number {
  const size = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw PackageErrors.Hostile(`a size of ${JSON.stringify(value.slice(0, 40))}`);
  return size;
}

// Octal digits, or binary with the first bit set where eight gigabytes do not suffice.
function numberIn(block: Buffer, at: number, length: number, what: string): number {
  const first = block[at] ?? 0;
  if (first >= 0x80) {
    // 0xff is a negative number; no archive is larger than 2^53 bytes.
    if (first !== 0x80 || block.subarray(at + 1, at + length - 6).some((byte) => byte !== 0))
      throw PackageErrors.Hostile(`a ${what} out of range`);
    return block.readUIntBE(at + length - 6, 6);
  }
  const text = block.toString('latin1', at, at + length).replace(/^[\0 ]+|[\0 ].*$/gs, '');
  if (!/^[0-7]*$/.test(text)) throw PackageErrors.BadArchive(`a ${what} that is not a number`);
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function textIn(block: Buffer, at: number, length: number): string {
  return untilZero(block.subarray(at, at + length));
}

function untilZero(bytes: Buffer): string {
  const zero = bytes.indexOf(0);
  return bytes.toString('utf8', 0, zero === -1 ? bytes.length : zero);
}

function checkedName(name: string): string {
  if (name.includes('\0')) throw PackageErrors.Hostile(`the name ${shown(name)} holds a zero byte`);
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw PackageErrors.Hostile(`the name ${shown(name)} climbs out of its folder`);
  return segments.join('/');
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

function typeOf(typeFlag: string): TarEntry['type'] {
  switch (typeFlag) {
    case '0':
    case '\0':
    case '7':
      return 'file';
    case '1':
      return 'hardlink';
    case '2':
      return 'symlink';
    case '5':
      return 'directory';
    default:
      return 'other';
  }
}

function createBody(source: ByteSource, size: number): { read(): AsyncGenerator<Buffer>; skip(): Promise<void> } {
  let left = size;
  async function* read(): AsyncGenerator<Buffer> {
    while (left > 0) {
      const chunk = await source.some(left);
      if (chunk.length === 0) throw PackageErrors.Truncated('in the middle of a file');
      left -= chunk.length;
      yield chunk;
    }
  }
  return {
    read,
    async skip() {
      for await (const _ of read());
      // The last padding may be missing: some writers end where the content ends.
      await source.take(paddedSize(size) - size);
    },
  };
}

function paddedSize(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}
