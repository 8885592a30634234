import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { PackageError } from '../errors.ts';
import { decompress } from './decompress.ts';

async function* once(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function sizeOf(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of chunks) size += chunk.length;
  return size;
}

const text = Buffer.from('a package\n'.repeat(5000));

describe('a layer', () => {
  for (const [name, packed] of [
    ['gzip', gzipSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['plain', text],
    ['gzip in two members', Buffer.concat([gzipSync(text.subarray(0, 100)), gzipSync(text.subarray(100))])],
  ] as const) {
    test(`a layer that is ${name} is unpacked, in chunks of any size`, async () => {
      for (const size of [1, 7, packed.length]) {
        if (size === 1 && packed.length > 10_000) continue;
        const chunks: Buffer[] = [];
        const cut = (async function* () {
          for (let at = 0; at < packed.length; at += size) yield packed.subarray(at, at + size);
        })();
        for await (const chunk of decompress(cut)) chunks.push(chunk);
        assert.ok(Buffer.concat(chunks).equals(text));
      }
    });
  }

  test('a layer of nothing is nothing', async () => assert.equal(await sizeOf(decompress(once())), 0));

  for (const [name, packed] of [
    ['gzip', gzipSync(text)],
    ['zstd', zstdCompressSync(text)],
  ] as const)
    test(`a layer of ${name} that is cut off or damaged is refused`, async () => {
      await assert.rejects(sizeOf(decompress(once(packed.subarray(0, packed.length - 9)))), /truncated/);
      const damaged = Buffer.concat([packed.subarray(0, 12), Buffer.alloc(40, 0xff), packed.subarray(52)]);
      await assert.rejects(sizeOf(decompress(once(damaged))), (error) => error instanceof PackageError);
    });

  test('a layer that is a bomb is given up when the ratio shows, and one that is just too large at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
    await assert.rejects(sizeOf(decompress(once(bomb))), /unpack to more than 200 times/);
    const zstdBomb = zstdCompressSync(Buffer.alloc(100 * 1024 * 1024));
    await assert.rejects(sizeOf(decompress(once(zstdBomb))), /unpack to more than 200 times/);
    await assert.rejects(sizeOf(decompress(once(gzipSync(text)), { maxBytes: 1000 })), /limit of 1000 bytes/);
  });

  test('a layer whose source fails reports the error of the source, not that of the archive', async () => {
    async function* failing() {
      yield gzipSync(text).subarray(0, 50);
      throw new Error('wrong digest');
    }
    await assert.rejects(sizeOf(decompress(failing())), /^Error: wrong digest$/);
  });

  test('a layer that is left early lets its source go', async () => {
    let isLetGo = false;
    const big = gzipSync(Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251)));
    async function* source() {
      try {
        for (let at = 0; at < big.length; at += 100) yield big.subarray(at, at + 100);
      } finally {
        isLetGo = true;
      }
    }
    for await (const _ of decompress(source())) break;
    assert.ok(isLetGo);
  });
});
