// Layers come gzipped, as zstd, or plain. The format is detected from their first bytes and not from the manifest's media type. The output
// is bounded twice: in bytes, and by its ratio to the input, so that a small bomb is recognised long before it has filled anything.
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { PackageErrors } from '../errors.ts';
import { createByteSource } from './byte-source.ts';

export interface DecompressLimits {
  /** Bytes that may come out. Default 8 GiB: images with a runtime are large. */
  readonly maxBytes?: number;
  /** The highest ratio of output to input, once the output exceeds 64 MiB. Default 200. */
  readonly maxRatio?: number;
}

const RATIO_FROM = 64 * 1024 * 1024;

/** The bytes as they were before they were compressed. */
export async function* decompress(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes = 8 * 1024 ** 3, maxRatio = 200 }: DecompressLimits = {},
): AsyncGenerator<Buffer> {
  const source = createByteSource(chunks);
  const head = await source.take(4);
  let bytesIn = head.length;
  async function* counted(): AsyncGenerator<Buffer> {
    if (head.length > 0) yield head;
    for (;;) {
      const chunk = await source.some(Number.MAX_SAFE_INTEGER);
      if (chunk.length === 0) return;
      bytesIn += chunk.length;
      yield chunk;
    }
  }
  let bytesOut = 0;
  try {
    for await (const chunk of inflate(head, counted())) {
      bytesOut += chunk.length;
      if (bytesOut > maxBytes) throw PackageErrors.TooLarge('what a layer unpacks to', `${maxBytes} bytes`);
      if (bytesOut > RATIO_FROM && bytesOut > bytesIn * maxRatio)
        throw PackageErrors.Hostile(`${bytesIn} bytes unpack to more than ${maxRatio} times as many`);
      yield chunk;
    }
  } finally {
    await source.close();
  }
}

async function* inflate(head: Buffer, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const unpack =
    head[0] === 0x1f && head[1] === 0x8b
      ? createGunzip()
      : head.length === 4 && head.readUInt32BE() === 0x28b52ffd
        ? createZstdDecompress()
        : undefined;
  if (unpack === undefined) {
    yield* chunks;
    return;
  }
  let fromSource: Error | undefined;
  const watched = (async function* () {
    try {
      yield* chunks;
    } catch (error) {
      fromSource = error instanceof Error ? error : new Error('the source ended', { cause: error });
      throw error;
    }
  })();
  // The iteration below reports errors. The callback is there because pipeline requires one.
  pipeline(Readable.from(watched, { objectMode: false }), unpack, () => {});
  try {
    for await (const chunk of unpack) yield chunk as Buffer;
  } catch (error) {
    // The stream hands an error of its own to the source too, which throws it again.
    throw unpackError(fromSource ?? error);
  } finally {
    unpack.destroy();
  }
}

function unpackError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'Z_BUF_ERROR' || (error instanceof Error && /unexpected end of file/.test(error.message)))
    return PackageErrors.Truncated('in the middle of compressed data');
  if (code.startsWith('Z_') || code.startsWith('ZSTD_') || code.startsWith('ERR_ZLIB') || code.startsWith('ERR__ZSTD'))
    return PackageErrors.BadArchive(`its compressed data is damaged (${code})`);
  return error;
}
