// Packages from real registries, through the cache on disk. Beside the packages the cache keeps which digest each
// reference was found to have: pull policy Never goes by that.
import { hash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@capstan/kube';
import { verifySignatures } from '../cosign/index.ts';
import { createRegistryClient, isDigest, keychainOf, parseReference, type RegistryClient } from '../oci/index.ts';
import { createPackageCache, createPackageFetcher, PackageError, type PackageFetcher } from '../xpkg/index.ts';
import type { PackageFault, PackageSource, SourceContext } from './package-source.ts';

export interface RegistrySourceOptions {
  /** Where packages are kept. */
  readonly cacheDir: string;
  /** For references that name no registry. */
  readonly registry: string;
  readonly caBundlePath?: string;
  readonly userAgent?: string;
  readonly logger?: Logger;
  /** Default: one of its own. */
  readonly client?: RegistryClient;
}

/** Nothing is opened before the first package is asked for. */
export function createRegistrySource(options: RegistrySourceOptions): PackageSource {
  const { cacheDir, registry, caBundlePath, userAgent, logger } = options;
  let opened: { client: RegistryClient; fetcher: PackageFetcher } | undefined;
  const open = () => {
    if (opened !== undefined) return opened;
    const client =
      options.client ??
      createRegistryClient({
        ...(caBundlePath === undefined ? {} : { caBundlePath }),
        ...(userAgent === undefined ? {} : { userAgent }),
      });
    const cache = createPackageCache(cacheDir);
    opened = { client, fetcher: createPackageFetcher({ client, cache, ...(logger && { logger }) }) };
    return opened;
  };
  const parse = (image: string) => parseReference(image, { defaultRegistry: registry });
  const asked = ({ secrets, signal }: SourceContext) => ({ keychain: keychainOf(secrets), signal });
  const namesFile = (image: string) => join(cacheDir, `${hash('sha256', image, 'hex')}.name`);

  return {
    async resolve(image, context) {
      const digest = await open().fetcher.resolve(parse(image), asked(context));
      await remember(namesFile(image), digest).catch((error: unknown) =>
        logger?.warn('which digest a reference has could not be kept', { image, error }),
      );
      return digest;
    },
    pull: (image, context) =>
      faultsAsValues(() => {
        const reference = parse(image);
        return open().fetcher.fetch(reference, reference.digest ?? '', asked(context));
      }),
    cached: (image) =>
      faultsAsValues(async () => {
        const digest = parse(image).digest ?? (await recall(namesFile(image)));
        return digest === undefined ? undefined : open().fetcher.cached(digest);
      }),
    tags: (repository, context) => open().fetcher.tags(parse(repository), asked(context)),
    async verify(image, authorities, context) {
      const verdict = await verifySignatures(open().client, parse(image), authorities, asked(context));
      if ('authority' in verdict) return verdict.authority;
      return { fault: `nobody who may vouches for ${image}: ${verdict.problems.join('; ')}` };
    },
  };
}

/** What is wrong with a package itself does not get better by asking again. */
async function faultsAsValues<V>(work: () => Promise<V>): Promise<V | PackageFault> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PackageError) return { fault: error.message };
    throw error;
  }
}

async function remember(file: string, digest: string): Promise<void> {
  if ((await recall(file)) === digest) return;
  const temporary = `${file}.tmp`;
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(temporary, digest, { mode: 0o600 });
  await rename(temporary, file);
}

async function recall(file: string): Promise<string | undefined> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    return isDigest(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
