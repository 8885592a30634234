// The registry as facts: what a tag is, what a package holds, which tags there are, who vouches for an image. A key names
// the image and, by a keyed digest, the log-in data: a Secret that is mended makes a new key, and is tried at once. What can
// pass (a registry that does not answer, a tag that is not there yet) throws and is tried again with back-off; what cannot
// (a package that breaks the rules) is a value.
import { type FactDefinition, fact } from '@capstan/reconcile';
import { FactErrors } from '../errors.ts';
import type { PullSecret } from '../oci/keychain.ts';
import type { ParsedPackage } from '../xpkg/package.ts';
import type { Authority, PackageFault, PackageSource } from './package-source.ts';
import { createVault, type Vault } from './vault.ts';

export interface RegistryFacts {
  readonly credentials: Vault<readonly PullSecret[]>;
  readonly authorities: Vault<readonly Authority[]>;
  /** The digest of a reference, asked once. */
  readonly digest: FactDefinition<string>;
  /** The digest of a reference, asked on a period: pull policy Always. */
  readonly movingDigest: FactDefinition<string>;
  /** The package of an image that is named by its digest. */
  readonly content: FactDefinition<ParsedPackage | PackageFault>;
  /** The package of a reference from the cache alone: pull policy Never. */
  readonly cachedContent: FactDefinition<ParsedPackage | PackageFault>;
  readonly tags: FactDefinition<readonly string[]>;
  /** Who vouches for an image; an error while nobody does, since it can be signed yet. */
  readonly voucher: FactDefinition<string>;
}

/** What the key of a fact says. */
export interface FactKey {
  readonly image: string;
  /** Of the log-in data, in the vault; absent for none. */
  readonly credentials?: string;
  /** Of those who may vouch for the image, in the vault. */
  readonly authorities?: string;
}

export function factKey({ image, credentials, authorities }: FactKey): string {
  return [image, credentials ?? '', authorities ?? ''].join(' ').trimEnd();
}

/** A large image over a slow line. */
const PULL_TIMEOUT_MS = 180_000;
/** New versions of a dependency are noticed so late at most. */
const TAGS_REFRESH_MS = 600_000;
const SHORT_RETRY = { retryMs: 1000, maxRetryMs: 60_000 };

export function createRegistryFacts(source: PackageSource, pollMs: number): RegistryFacts {
  const credentials = createVault<readonly PullSecret[]>();
  const authorities = createVault<readonly Authority[]>();
  const parse = (key: string, signal: AbortSignal) => {
    const [image = '', login = '', vouchers = ''] = key.split(' ');
    const found = login === '' ? [] : credentials.get(login);
    if (found === undefined) throw FactErrors.Forgotten('the log-in data');
    return { image, vouchers, context: { secrets: found, signal } };
  };
  const digestOf = (key: string, { signal }: { signal: AbortSignal }) => {
    const { image, context } = parse(key, signal);
    return source.resolve(image, context);
  };
  return {
    credentials,
    authorities,
    digest: fact({ name: 'package-digest', fetch: async (key, run) => digestOf(key, run), ...SHORT_RETRY }),
    movingDigest: fact({
      name: 'package-moving-digest',
      fetch: async (key, run) => digestOf(key, run),
      refreshMs: pollMs,
      ...SHORT_RETRY,
    }),
    content: fact({
      name: 'package-content',
      async fetch(key, { signal }) {
        const { image, context } = parse(key, signal);
        return source.pull(image, context);
      },
      timeoutMs: PULL_TIMEOUT_MS,
      ...SHORT_RETRY,
    }),
    cachedContent: fact({
      name: 'cached-package',
      async fetch(image) {
        const found = await source.cached(image);
        if (found === undefined) throw FactErrors.NotCached(image);
        return found;
      },
      ...SHORT_RETRY,
    }),
    tags: fact({
      name: 'package-tags',
      async fetch(key, { signal }) {
        const { image, context } = parse(key, signal);
        return source.tags(image, context);
      },
      refreshMs: TAGS_REFRESH_MS,
      ...SHORT_RETRY,
    }),
    voucher: fact({
      name: 'package-voucher',
      async fetch(key, { signal }) {
        const { image, vouchers, context } = parse(key, signal);
        const who = authorities.get(vouchers);
        if (who === undefined) throw FactErrors.Forgotten('the public keys');
        return source.verify(image, who, context);
      },
      ...SHORT_RETRY,
    }),
  };
}
