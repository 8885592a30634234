// Packages from real registries, through the cache on disk.
import { readFile } from 'node:fs/promises';
import { type Logger, systemClock } from '@capstan/kube';
import { type TrustFiles, verifySignatures } from '../cosign/index.ts';
import { FactErrors } from '../errors.ts';
import {
  createRegistryClient,
  keychainOf,
  parseReference,
  type RegistryClient,
  type TransportOptions,
} from '../oci/index.ts';
import { createPackageCache, createPackageFetcher, PackageError, type PackageFetcher } from '../xpkg/index.ts';
import type { PackageFault, PackageSource, SourceContext } from './package-source.ts';

export interface RegistrySourceOptions {
  /** Where packages are kept. */
  readonly cacheDir: string;
  /** For references that name no registry. */
  readonly registry: string;
  readonly caBundlePath?: string;
  readonly userAgent?: string;
  /** Default: registries are asked directly. */
  readonly proxy?: TransportOptions['proxy'];
  /** Milliseconds since the epoch; default the machine's clock. */
  readonly now?: () => number;
  readonly logger?: Logger;
  /** The trust root of keyless signatures; default: they are not supported. */
  readonly trust?: TrustFiles;
  /** Default: one of its own. */
  readonly client?: RegistryClient;
}

/** Nothing is opened before the first package is asked for. */
export function createRegistrySource(options: RegistrySourceOptions): PackageSource {
  const { cacheDir, registry, caBundlePath, userAgent, proxy, logger, now = () => systemClock.now() } = options;
  const cache = createPackageCache(cacheDir, now);
  let opened: { client: RegistryClient; fetcher: PackageFetcher } | undefined;
  const open = () => {
    if (opened !== undefined) return opened;
    const client =
      options.client ??
      createRegistryClient({
        ...(caBundlePath === undefined ? {} : { caBundlePath }),
        ...(userAgent === undefined ? {} : { userAgent }),
        ...(proxy && { proxy }),
      });
    opened = { client, fetcher: createPackageFetcher({ client, cache, ...(logger && { logger }) }) };
    return opened;
  };
  const parse = (image: string) => parseReference(image, { defaultRegistry: registry });
  const asked = ({ secrets, signal }: SourceContext) => ({ keychain: keychainOf(secrets), signal });

  const { trust } = options;
  const trustRoot = trust && isComplete(trust) ? () => trustMaterial(trust) : undefined;
  return {
    verifiesKeyless: trustRoot !== undefined,
    async resolve(image, context) {
      const digest = await open().fetcher.resolve(parse(image), asked(context));
      await cache
        .remember(image, digest)
        .catch((error: unknown) => logger?.warn('which digest a reference has could not be kept', { image, error }));
      return digest;
    },
    pull: (image, context) =>
      faultsAsValues(() => {
        const reference = parse(image);
        return open().fetcher.fetch(reference, reference.digest ?? '', asked(context));
      }),
    cached: (image) =>
      faultsAsValues(async () => {
        const digest = parse(image).digest ?? (await cache.recall(image));
        return digest === undefined ? undefined : open().fetcher.cached(digest);
      }),
    tags: (repository, context) => open().fetcher.tags(parse(repository), asked(context)),
    async verify(image, authorities, context) {
      const verdict = await verifySignatures(open().client, parse(image), authorities, asked(context), trustRoot);
      if ('authority' in verdict) return verdict.authority;
      // Not for ever: the one that may can sign it yet.
      throw FactErrors.NotVouchedFor(image, verdict.problems);
    },
  };
}

/** Without certificate authorities or without logs there is nothing to check with. */
function isComplete({ trustedRoot, fulcio, rekor }: TrustFiles): boolean {
  return trustedRoot !== undefined || (fulcio !== undefined && rekor !== undefined);
}

/** The modules that read them are loaded on first use. */
async function trustMaterial(trust: TrustFiles) {
  const { loadTrustRoot } = await import('../cosign/trust-root.ts');
  return loadTrustRoot(trust, (path) => readFile(path, 'utf8'));
}

/** A problem of the package itself does not disappear by a retry. */
async function faultsAsValues<V>(work: () => Promise<V>): Promise<V | PackageFault> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PackageError) return { fault: error.message };
    throw error;
  }
}
