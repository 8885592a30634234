// A store in a folder, which outlives the process:
//
//   blobs/HEX                         bytes, shared by all repositories
//   repositories/NAME/_blobs/HEX      empty: the repository knows the blob
//   repositories/NAME/_manifests/HEX  media type, a line break, the manifest
//   repositories/NAME/_tags/TAG       the digest
//   uploads/…                         unfinished uploads; left-overs are removed at the start
//
// Names of repositories never begin with an underscore in a segment of their own here (the registry refuses those), so
// the folders cannot meet. Every file comes by rename, so none is ever half there.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RegistryStore, StoredBlob } from './store.ts';

/** A store in this folder, which is created when it is not there. */
export async function createFolderStore(root: string): Promise<RegistryStore> {
  const uploads = join(root, 'uploads');
  await rm(uploads, { recursive: true, force: true });
  await mkdir(uploads, { recursive: true });
  await mkdir(join(root, 'blobs'), { recursive: true });
  const blobPath = (digest: string) => join(root, 'blobs', hexOf(digest));
  const place = (repository: string, ...rest: string[]) => join(root, 'repositories', repository, ...rest);

  async function put(path: string, bytes: Buffer | string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    const temporary = join(uploads, randomUUID());
    await writeFile(temporary, bytes);
    await rename(temporary, path);
  }

  return {
    async blob(repository, digest) {
      return (await exists(place(repository, '_blobs', hexOf(digest)))) ? blobAt(blobPath(digest)) : undefined;
    },
    async upload() {
      const path = join(uploads, randomUUID());
      const file = await open(path, 'wx');
      const hash = createHash('sha256');
      let size = 0;
      return {
        get size() {
          return size;
        },
        async write(chunk) {
          await file.writeFile(chunk);
          hash.update(chunk);
          size += chunk.length;
        },
        async commit(repository, digest) {
          await file.close();
          if (`sha256:${hash.digest('hex')}` !== digest) {
            await rm(path, { force: true });
            return undefined;
          }
          await rename(path, blobPath(digest));
          await put(place(repository, '_blobs', hexOf(digest)), '');
          return blobAt(blobPath(digest));
        },
        async discard() {
          await file.close();
          await rm(path, { force: true });
        },
      };
    },
    async link(repository, digest) {
      if (!(await exists(blobPath(digest)))) return false;
      await put(place(repository, '_blobs', hexOf(digest)), '');
      return true;
    },
    async manifest(repository, reference) {
      const digest = reference.startsWith('sha256:')
        ? reference
        : (await contentOf(place(repository, '_tags', reference)))?.toString();
      if (digest === undefined) return undefined;
      const stored = await contentOf(place(repository, '_manifests', hexOf(digest)));
      if (stored === undefined) return undefined;
      const line = stored.indexOf(0x0a);
      return { digest, mediaType: stored.toString('utf8', 0, line), body: stored.subarray(line + 1) };
    },
    async putManifest(repository, { digest, mediaType, body }, tag) {
      await put(place(repository, '_manifests', hexOf(digest)), Buffer.concat([Buffer.from(`${mediaType}\n`), body]));
      if (tag !== undefined) await put(place(repository, '_tags', tag), digest);
    },
    async tags(repository) {
      if (!(await exists(place(repository, '_manifests')))) return undefined;
      return (await namesIn(place(repository, '_tags'))).toSorted();
    },
    async remove(repository, reference) {
      const isTag = !reference.startsWith('sha256:');
      const path = isTag ? place(repository, '_tags', reference) : place(repository, '_manifests', hexOf(reference));
      if (!(await exists(path))) return false;
      await rm(path);
      if (isTag) return true;
      for (const tag of await namesIn(place(repository, '_tags'))) {
        const tagPath = place(repository, '_tags', tag);
        if ((await contentOf(tagPath))?.toString() === reference) await rm(tagPath, { force: true });
      }
      return true;
    },
  };
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
}

async function blobAt(path: string): Promise<StoredBlob | undefined> {
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) return undefined;
  return {
    size,
    read: (start, end) => (start >= end ? none() : createReadStream(path, { start, end: end - 1 })),
  };
}

async function* none(): AsyncGenerator<Uint8Array> {}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch {
    return undefined;
  }
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}
