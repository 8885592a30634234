// The names and values at the beginning of a SPDY stream: compressed over the whole connection, with a dictionary that both sides have.
import type { Readable } from 'node:stream';
import { createInflate } from 'node:zlib';

export interface HeaderReader {
  /** Reads a block. Blocks must be read in their order. Rejects invalid ones. */
  read(block: Buffer): Promise<ReadonlyMap<string, string>>;
  close(): void;
}

/** A block that takes more is not one of ours: streams are named with some words. */
const MAX_BLOCK = 64 * 1024;

export function createHeaderReader(): HeaderReader {
  const inflate = createInflate({ dictionary: DICTIONARY });
  const broken = new Promise<never>((_, reject) => inflate.once('error', reject));
  broken.catch(() => {});
  return {
    async read(block) {
      if (block.length > MAX_BLOCK) throw new RangeError(`a header block is longer than ${MAX_BLOCK} bytes`);
      const taken = new Promise<void>((resolve, reject) => {
        // It stops when its buffer is full, and then has more than a block that names a stream.
        const check = () => {
          if (inflate.readableLength >= inflate.readableHighWaterMark)
            reject(new RangeError('a header block is too long'));
        };
        inflate.on('readable', check);
        inflate.write(block, () => {
          inflate.off('readable', check);
          resolve();
        });
      });
      await Promise.race([taken, broken]);
      return parse(readAll(inflate));
    },
    close: () => inflate.close(),
  };
}

/** Takes everything that a stream has buffered. One `read()` returns a single chunk. */
function readAll(stream: Readable): Buffer {
  const chunks: Buffer[] = [];
  for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null)
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 4;
  const text = () => {
    const length = bytes.readUInt32BE(at);
    at += 4 + length;
    if (at > bytes.length) throw new RangeError('a header block ends too early');
    return bytes.toString('utf8', at - length, at);
  };
  for (let left = bytes.readUInt32BE(0); left > 0; left -= 1) headers.set(text(), text());
  return headers;
}

/** A stored block with the count of headers, and the empty one by which readers know that they have everything. */
const NO_HEADERS = Buffer.from([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);

/** A block without headers, which is all that we answer with. It is stored, not compressed: every reader takes that. */
export function createEmptyBlocks(): () => Buffer {
  let isFirst = true;
  return () => {
    const block = isFirst ? Buffer.concat([Buffer.from([0x78, 0x01]), NO_HEADERS]) : NO_HEADERS;
    isFirst = false;
    return block;
  };
}

/** The dictionary of SPDY/3 (section 2.6.10.1): words with their lengths, and a fixed text after them. */
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization ' +
  'cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range ' +
  'content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified ' +
  'location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding ' +
  'upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';
const REST =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No ' +
  'Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 ' +
  'Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,' +
  'image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,' +
  'sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

export const DICTIONARY: Buffer = Buffer.concat([
  ...WORDS.split(' ').flatMap((word) => {
    const text = Buffer.from(word.replace('_', ' '));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return [length, text];
  }),
  Buffer.from(REST),
]);
