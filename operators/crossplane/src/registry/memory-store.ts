import { createHash } from 'node:crypto';
import type { RegistryStore, StoredBlob, StoredManifest } from './store.ts';

/** A store that ends with the process. */
export function createMemoryStore(): RegistryStore {
  const blobs = new Map<string, Buffer>();
  const repositories = new Map<string, Repository>();
  const repositoryOf = (name: string): Repository => {
    const known = repositories.get(name) ?? { blobs: new Set(), manifests: new Map(), tags: new Map() };
    repositories.set(name, known);
    return known;
  };

  return {
    async blob(name, digest) {
      const bytes = repositories.get(name)?.blobs.has(digest) === true ? blobs.get(digest) : undefined;
      return bytes === undefined ? undefined : blobOf(bytes);
    },
    async upload() {
      const hash = createHash('sha256');
      let chunks: Buffer[] = [];
      let size = 0;
      return {
        get size() {
          return size;
        },
        async write(chunk) {
          // Copy: a chunk of a socket is part of a larger buffer, which would be kept whole.
          chunks.push(Buffer.from(chunk));
          hash.update(chunk);
          size += chunk.length;
        },
        async commit(name, digest) {
          if (`sha256:${hash.digest('hex')}` !== digest) return undefined;
          const bytes = blobs.get(digest) ?? Buffer.concat(chunks, size);
          blobs.set(digest, bytes);
          repositoryOf(name).blobs.add(digest);
          return blobOf(bytes);
        },
        async discard() {
          chunks = [];
        },
      };
    },
    async link(name, digest) {
      if (!blobs.has(digest)) return false;
      repositoryOf(name).blobs.add(digest);
      return true;
    },
    async manifest(name, reference) {
      const repository = repositories.get(name);
      return repository?.manifests.get(repository.tags.get(reference) ?? reference);
    },
    async putManifest(name, manifest, tag) {
      const repository = repositoryOf(name);
      repository.manifests.set(manifest.digest, manifest);
      if (tag !== undefined) repository.tags.set(tag, manifest.digest);
    },
    async tags(name) {
      const repository = repositories.get(name);
      return repository === undefined ? undefined : [...repository.tags.keys()].toSorted();
    },
    async remove(name, reference) {
      const repository = repositories.get(name);
      if (repository === undefined) return false;
      if (repository.tags.delete(reference)) return true;
      for (const [tag, digest] of repository.tags) if (digest === reference) repository.tags.delete(tag);
      return repository.manifests.delete(reference);
    },
  };
}

interface Repository {
  blobs: Set<string>;
  manifests: Map<string, StoredManifest>;
  tags: Map<string, string>;
}

const CHUNK = 64 * 1024;

function blobOf(bytes: Buffer): StoredBlob {
  return {
    size: bytes.length,
    async *read(start, end) {
      for (let at = start; at < end; at += CHUNK) yield bytes.subarray(at, Math.min(at + CHUNK, end));
    },
  };
}
