// Packages that were pulled, on disk, by the digest of what was pulled: `HEX.xpkg`. A digest never changes its meaning,
// so an entry is good for ever, and a restart pulls nothing.
//
// A file is one line of JSON (the digest it belongs to, size and sha256 of what follows) and then the documents, gzipped.
// It comes by rename from a file that was synced, so it is whole or not there; reading it checks everything again, and
// an entry that is damaged all the same (a disk, a person) is removed and counts as not there. A cache that cannot be
// written is no reason not to install a package: whoever stores gets the error and goes on without.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { pipeline as finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

export interface PackageCache {
  /** What was stored for that digest, checked before the first byte is given out; undefined when it is not there. */
  open(digest: string): Promise<AsyncIterable<Buffer> | undefined>;
  /** Keeps it; what the chunks throw is thrown on and nothing is kept. CacheWriteError for what the disk refuses. */
  store(digest: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  remove(digest: string): Promise<void>;
  /**
   * Removes whatever is of no digest among these, and files that a process left which died while it wrote; how many
   * packages went. For whoever knows all packages in use.
   */
  keepOnly(digests: ReadonlySet<string>, now: number): Promise<number>;
}

/** The disk's fault, not the package's. */
export class CacheWriteError extends Error {}

/** Goes up when what is stored changes: entries of another format count as damaged. */
const FORMAT = 1;
const MAX_HEADER = 1024;

export function createPackageCache(folder: string): PackageCache {
  const pathOf = (digest: string) => join(folder, `${hexOf(digest)}.xpkg`);

  return {
    async open(digest) {
      const path = pathOf(digest);
      const start = await checked(path, digest);
      if (start === 'absent') return undefined;
      if (start === 'damaged') {
        // What cannot be removed either is somebody's to look at, and no reason not to pull.
        await rm(path, { force: true }).catch(() => {});
        return undefined;
      }
      const unpacked = createGunzip();
      // Whoever iterates sees what goes wrong; the callback is there because pipeline asks for one.
      pipeline(createReadStream(path, { start }), unpacked, () => {});
      return unpacked;
    },
    async store(digest, chunks) {
      const temporary = join(folder, `.${randomUUID()}.tmp`);
      let fromSource: Error | undefined;
      async function* watched(): AsyncGenerator<Uint8Array> {
        try {
          yield* chunks;
        } catch (error) {
          fromSource = error instanceof Error ? error : new Error('the source ended', { cause: error });
          throw error;
        }
      }
      try {
        await mkdir(folder, { recursive: true });
        await write(temporary, digest, watched());
        await rename(temporary, pathOf(digest));
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {});
        if (fromSource !== undefined) throw fromSource;
        throw new CacheWriteError(`the package cannot be kept in ${folder}`, { cause: error });
      }
    },
    remove: (digest) => rm(pathOf(digest), { force: true }),
    async keepOnly(digests, now) {
      const kept = new Set([...digests].map((digest) => `${hexOf(digest)}.xpkg`));
      const names = await readdir(folder).catch((): string[] => []);
      const gone = names.filter((name) => /^[0-9a-f]{64}\.xpkg$/.test(name) && !kept.has(name));
      const left: string[] = [];
      for (const name of names.filter((each) => /^\..*\.tmp$/.test(each))) {
        const found = await stat(join(folder, name)).catch(() => undefined);
        if (found !== undefined && now - found.mtimeMs > LONGER_THAN_A_PULL_MS) left.push(name);
      }
      await Promise.all([...gone, ...left].map((name) => rm(join(folder, name), { force: true })));
      return gone.length;
    },
  };
}

const LONGER_THAN_A_PULL_MS = 24 * 60 * 60 * 1000;

function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hex === undefined) throw new Error(`${JSON.stringify(digest)} is not a digest`);
  return hex;
}

// The header has a fixed length, so that it can be written after what it describes is known.
async function write(path: string, digest: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const hash = createHash('sha256');
  let size = 0;
  async function* counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  }
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, start: MAX_HEADER });
  await finished(Readable.from(chunks, { objectMode: false }), createGzip({ level: 6 }), counted, file);
  const handle = await open(path, 'r+');
  try {
    const header = JSON.stringify({ format: FORMAT, digest, size, sha256: hash.digest('hex') });
    await handle.write(Buffer.from(header.padEnd(MAX_HEADER - 1).concat('\n')), 0, MAX_HEADER, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Where the content begins, when all of it is as it was written. */
async function checked(path: string, digest: string): Promise<number | 'absent' | 'damaged'> {
  try {
    const hash = createHash('sha256');
    let size = 0;
    let head = Buffer.alloc(0);
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const missing = Math.max(0, MAX_HEADER - head.length);
      if (missing > 0) head = Buffer.concat([head, chunk.subarray(0, missing)]);
      const content = chunk.subarray(missing);
      hash.update(content);
      size += content.length;
    }
    const header = JSON.parse(head.toString('utf8')) as Record<string, unknown>;
    const isWhole =
      header['format'] === FORMAT &&
      header['digest'] === digest &&
      header['size'] === size &&
      header['sha256'] === hash.digest('hex');
    return isWhole ? MAX_HEADER : 'damaged';
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'absent' : 'damaged';
  }
}
