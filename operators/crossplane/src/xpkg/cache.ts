// Pulled packages on disk, by their digest: `HEX.xpkg`. A digest never changes its meaning,
// so an entry is good for ever, and a restart pulls nothing. Beside them, `HEX.name`: the last known digest of a reference, which pull
// policy Never uses.
//
// Several processes may share a folder, so no process knows all entries in use: each one that reads an entry sets its time,
// and entries that were not read for a month are removed. A cache grows only by storing, so that is when it is searched
// for them, once a day.
//
// A file is one line of JSON (the digest it belongs to, size and sha256 of the rest) and then the documents, gzipped.
// It comes by rename from a file that was synced, so it is whole or not there; reading it checks everything again, and
// an entry that is damaged all the same (a disk, a person) is removed and counts as not there. A cache that cannot be
// written is no reason not to install a package: the one that stores gets the error and goes on without.
import { createHash, hash as hashOf, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { pipeline as finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { isDigest } from '../oci/reference.ts';

export interface PackageCache {
  /** Returns the stored content of that digest, checked before the first byte is passed out; undefined if there is none. */
  open(digest: string): Promise<AsyncIterable<Buffer> | undefined>;
  /** Stores the chunks. An error of the chunks is thrown on, and nothing is stored. An error of the disk is a CacheWriteError. */
  store(digest: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  remove(digest: string): Promise<void>;
  /** Keeps which digest a reference has. */
  remember(reference: string, digest: string): Promise<void>;
  /** The digest that a reference was found to have last. */
  recall(reference: string): Promise<string | undefined>;
}

/** The disk's fault, not the package's. */
export class CacheWriteError extends Error {}

/** Increases when the stored content changes: entries of another format count as damaged. */
const FORMAT = 1;
const MAX_HEADER = 1024;

/** Longer than any pull takes. */
const UNFINISHED_MS = 24 * 60 * 60 * 1000;
const UNUSED_MS = 30 * 24 * 60 * 60 * 1000;
const SWEEP_MS = 24 * 60 * 60 * 1000;

export function createPackageCache(folder: string, now: () => number): PackageCache {
  const pathOf = (digest: string) => join(folder, `${hexOf(digest)}.xpkg`);
  const nameOf = (reference: string) => join(folder, `${hashOf('sha256', reference, 'hex')}.name`);
  /** The entries that this process has passed out, which may be in use as long as it runs. */
  const used = new Set<string>();
  let swept = Number.NEGATIVE_INFINITY;

  async function touch(path: string): Promise<void> {
    used.add(path);
    const seconds = now() / 1000;
    await utimes(path, seconds, seconds);
  }

  /** An entry that cannot be removed now is removed another day. */
  async function sweep(): Promise<void> {
    if (now() - swept < SWEEP_MS) return;
    swept = now();
    for (const path of used) await touch(path).catch(() => used.delete(path));
    for (const name of await readdir(folder)) {
      const isUnfinished = /^\..*\.tmp$/.test(name);
      if (!isUnfinished && !/^[0-9a-f]{64}\.(?:xpkg|name)$/.test(name)) continue;
      const { mtimeMs } = await stat(join(folder, name));
      if (now() - mtimeMs > (isUnfinished ? UNFINISHED_MS : UNUSED_MS)) await rm(join(folder, name), { force: true });
    }
  }

  return {
    async open(digest) {
      const path = pathOf(digest);
      const start = await checked(path, digest);
      if (start === 'absent') return undefined;
      if (start === 'damaged') {
        // If it cannot be removed either, a user has to check it. That is no reason not to pull.
        await rm(path, { force: true }).catch(() => {});
        return undefined;
      }
      // A folder that is only read is a cache, too.
      await touch(path).catch(() => {});
      const unpacked = createGunzip();
      // The iteration reports errors. The callback is there because pipeline requires one.
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
        await touch(pathOf(digest)).catch(() => {});
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {});
        if (fromSource !== undefined) throw fromSource;
        throw new CacheWriteError(`the package cannot be kept in ${folder}`, { cause: error });
      }
      await sweep().catch(() => {});
    },
    remove: (digest) => rm(pathOf(digest), { force: true }),
    async remember(reference, digest) {
      const path = nameOf(reference);
      if ((await recalled(path)) !== digest) {
        const temporary = join(folder, `.${randomUUID()}.tmp`);
        await mkdir(folder, { recursive: true });
        await writeFile(temporary, digest, { mode: 0o600 });
        await rename(temporary, path);
      }
      await touch(path).catch(() => {});
    },
    async recall(reference) {
      const path = nameOf(reference);
      const digest = await recalled(path);
      if (digest !== undefined) await touch(path).catch(() => {});
      return digest;
    },
  };
}

async function recalled(path: string): Promise<string | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return isDigest(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hex === undefined) throw new Error(`${JSON.stringify(digest)} is not a digest`);
  return hex;
}

// The header has a fixed length, so that it can be written once the content is known.
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
