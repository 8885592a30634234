// Packages from registries, through the cache, for the package manager. A tag is resolved to a digest first and everything after that goes
// by the digest, so that a tag that moves meanwhile changes nothing. A cached package needs no network and no YAML: the cache keeps the
// parsed documents.
import { type Logger, silentLogger } from '@capstan/kube';
import type { Ask, RegistryClient } from '../oci/client.ts';
import { type Reference, withDigest } from '../oci/reference.ts';
import { CacheWriteError, type PackageCache } from './cache.ts';
import { fromLines, toLines } from './documents/document-lines.ts';
import { createSharedParser } from './documents/document-parser.ts';
import { type DocumentParser, readYamlStream, type YamlLimits } from './documents/yaml-stream.ts';
import { remoteImage } from './image-source.ts';
import { type ParsedPackage, parsePackage, readPackage } from './package.ts';
import { packageStream, type StreamLimits } from './package-stream.ts';

export interface PackageFetcher {
  /** The digest that the reference stands for now. Asks the registry, unless the reference is a digest itself. */
  resolve(reference: Reference, ask?: Ask): Promise<string>;
  /** The package of that digest: from the cache, else pulled. Throws RegistryError and PackageError. */
  fetch(reference: Reference, digest: string, ask?: Ask): Promise<ParsedPackage>;
  /** From the cache only: for the pull policy Never. */
  cached(digest: string): Promise<ParsedPackage | undefined>;
  /** All tags of a repository. */
  tags(reference: Reference, ask?: Ask): Promise<readonly string[]>;
  /** Drops a package that no revision uses any more. */
  forget(digest: string): Promise<void>;
}

export interface PackageFetcherOptions {
  readonly client: RegistryClient;
  /** Without one every fetch is a pull. */
  readonly cache?: PackageCache;
  readonly limits?: StreamLimits & YamlLimits;
  readonly logger?: Logger;
}

export function createPackageFetcher(options: PackageFetcherOptions): PackageFetcher {
  const { client, cache, limits = {}, logger = silentLogger } = options;

  const parser = createSharedParser();

  async function cached(digest: string): Promise<ParsedPackage | undefined> {
    const lines = await cache?.open(digest);
    return lines === undefined ? undefined : parsePackage(await fromLines(lines), undefined, 'report');
  }

  async function pull(reference: Reference, digest: string, ask: Ask, parse: DocumentParser): Promise<ParsedPackage> {
    const open = async () => packageStream(await remoteImage(client, withDigest(reference, digest), ask), limits);
    if (cache === undefined) return readPackage(await open(), limits, parse, 'report');
    try {
      await cache.store(digest, toLines(readYamlStream(await open(), limits, parse)));
      const found = await cached(digest);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof CacheWriteError)) throw error;
      logger.warn('a package could not be kept; it is pulled again when it is needed', { digest, error });
    }
    return readPackage(await open(), limits, parse, 'report');
  }

  return {
    async resolve(reference, ask) {
      return (await client.resolve(reference, ask)).digest;
    },
    async fetch(reference, digest, ask = {}) {
      const known = await cached(digest);
      if (known !== undefined) return known;
      return parser.use((parse) => pull(reference, digest, ask, parse));
    },
    cached,
    tags: (reference, ask) => client.tags(reference, ask),
    async forget(digest) {
      await cache?.remove(digest);
    },
  };
}
