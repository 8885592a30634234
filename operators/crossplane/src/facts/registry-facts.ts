// The registry as facts: the digest of a tag, the content of a package, the list of tags, and the verification of an image. The input holds
// the image and the log-in data: a Secret that is corrected is another input, and is tried at once. A temporary failure (a registry that
// does not answer, a tag that does not exist yet) throws and is retried with back-off. A lasting one (a package that breaks the rules) is a
// value.
import { type FactDefinition, fact } from '@capstan/reconcile';
import { FactErrors } from '../errors.ts';
import type { PullSecret } from '../oci/keychain.ts';
import type { ParsedPackage } from '../xpkg/package.ts';
import type { Authority, PackageFault, PackageSource } from './package-source.ts';

export interface RegistryFacts {
  /** The digest of a reference, asked once. */
  readonly digest: FactDefinition<string, ImageInput>;
  /** The digest of a reference, asked on a period: pull policy Always. */
  readonly movingDigest: FactDefinition<string, ImageInput>;
  /** The package of an image that is named by its digest. */
  readonly content: FactDefinition<ParsedPackage | PackageFault, ImageInput>;
  /** The package of a reference from the cache alone: pull policy Never. */
  readonly cachedContent: FactDefinition<ParsedPackage | PackageFault>;
  readonly tags: FactDefinition<readonly string[], ImageInput>;
  /** Who vouches for an image; an error while no authority does, since it can be signed yet. */
  readonly voucher: FactDefinition<string, VoucherInput>;
}

export interface ImageInput {
  readonly image: string;
  /** Log-in data; none for registries that need none. */
  readonly credentials: readonly PullSecret[];
}

export interface VoucherInput extends ImageInput {
  /** Those who may vouch for the image. */
  readonly authorities: readonly Authority[];
}

/** A large image over a slow line. */
const PULL_TIMEOUT_MS = 180_000;
/** New versions of a dependency are noticed so late at most. */
const TAGS_REFRESH_MS = 600_000;
const SHORT_RETRY = { retryMs: 1000, maxRetryMs: 60_000 };

export function createRegistryFacts(source: PackageSource, pollMs: number): RegistryFacts {
  const common = { label: ({ image }: ImageInput) => image, readOnly: true, ...SHORT_RETRY };
  const context = ({ credentials }: ImageInput, { signal }: { signal: AbortSignal }) => ({
    secrets: credentials,
    signal,
  });
  const digestOf = (input: ImageInput, run: { signal: AbortSignal }) =>
    source.resolve(input.image, context(input, run));
  return {
    digest: fact({ name: 'package-digest', fetch: digestOf, ...common }),
    movingDigest: fact({ name: 'package-moving-digest', fetch: digestOf, refreshMs: pollMs, ...common }),
    content: fact({
      name: 'package-content',
      fetch: (input: ImageInput, run) => source.pull(input.image, context(input, run)),
      timeoutMs: PULL_TIMEOUT_MS,
      ...common,
    }),
    cachedContent: fact({
      name: 'cached-package',
      async fetch(image) {
        const found = await source.cached(image);
        if (found === undefined) throw FactErrors.NotCached(image);
        return found;
      },
      readOnly: true,
      ...SHORT_RETRY,
    }),
    tags: fact({
      name: 'package-tags',
      fetch: (input: ImageInput, run) => source.tags(input.image, context(input, run)),
      refreshMs: TAGS_REFRESH_MS,
      ...common,
    }),
    voucher: fact({
      name: 'package-voucher',
      fetch: (input: VoucherInput, run) => source.verify(input.image, input.authorities, context(input, run)),
      ...common,
    }),
  };
}
