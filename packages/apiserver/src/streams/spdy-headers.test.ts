import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, createDeflate } from 'node:zlib';
import { createHeaderReader, DICTIONARY } from './spdy-headers.ts';

/** Compresses header blocks as a SPDY client does: over the whole connection, flushed after each block. */
function createHeaderWriter() {
  const deflate = createDeflate({ dictionary: DICTIONARY });
  return async (headers: ReadonlyMap<string, string>): Promise<Buffer> => {
    const texts = [...headers].flat().map((text) => Buffer.from(text));
    const lengths = [headers.size, ...texts.map(({ length }) => length)].map((length) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(length);
      return bytes;
    });
    const [count, ...before] = lengths;
    const chunks: Buffer[] = [];
    const collect = (chunk: Buffer) => chunks.push(chunk);
    deflate.on('data', collect);
    deflate.write(
      Buffer.concat([count ?? Buffer.alloc(4), ...texts.flatMap((text, at) => [before[at] ?? text, text])]),
    );
    await new Promise<void>((flushed) => deflate.flush(constants.Z_SYNC_FLUSH, flushed));
    deflate.off('data', collect);
    return Buffer.concat(chunks);
  };
}

test('a header block that inflates into several chunks is read as a whole', async () => {
  const write = createHeaderWriter();
  const reader = createHeaderReader();
  const long = new Map([
    ['streamtype', 'data'],
    ['port', 'x'.repeat(40_000)],
  ]);
  assert.deepEqual(await reader.read(await write(long)), long);
  reader.close();
});

test('header blocks of a long connection are read wherever a chunk of the decompressor ends', async () => {
  const write = createHeaderWriter();
  const reader = createHeaderReader();
  for (let round = 0; round < 1000; round++) {
    const headers = new Map([
      ['streamtype', round % 2 === 0 ? 'error' : 'data'],
      ['port', '8080'],
      ['requestid', String(round)],
    ]);
    assert.deepEqual(await reader.read(await write(headers)), headers, `block ${round}`);
  }
  reader.close();
});

test('a header block that inflates to more than a block may have is refused', async () => {
  const write = createHeaderWriter();
  const reader = createHeaderReader();
  await assert.rejects(
    reader.read(await write(new Map([['port', 'x'.repeat(1_000_000)]]))),
    /header block is too long/,
  );
  reader.close();
});
