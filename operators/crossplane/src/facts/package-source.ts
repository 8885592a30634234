// Where packages come from, as the facts use it: a registry with a cache on disk in the program, anything in tests.
import type { CosignAuthority } from '../cosign/index.ts';
import { FactErrors } from '../errors.ts';
import type { PullSecret } from '../oci/keychain.ts';
import type { ParsedPackage } from '../xpkg/package.ts';

/** A fault that a retry cannot fix: the package itself is not usable. */
export interface PackageFault {
  readonly fault: string;
}

/** One who vouches for images: a public key, or identities. */
export type Authority = CosignAuthority;

export interface SourceContext {
  /** Pull secrets, the first that knows a registry counting. Never printed. */
  readonly secrets: readonly PullSecret[];
  readonly signal: AbortSignal;
}

export interface PackageSource {
  /** Whether authorities may be identities without a key: there is a trust root. False by default. */
  readonly verifiesKeyless?: boolean;
  /** The digest that a reference has now. */
  resolve(image: string, context: SourceContext): Promise<string>;
  /** Returns the package of an image that is named by its digest: from the cache, else from its registry. Throws temporary failures. */
  pull(image: string, context: SourceContext): Promise<ParsedPackage | PackageFault>;
  /** The package of a reference from the cache alone; undefined when it is not there. */
  cached(image: string): Promise<ParsedPackage | PackageFault | undefined>;
  /** All tags of a repository. */
  tags(repository: string, context: SourceContext): Promise<readonly string[]>;
  /** The name of the authority that vouches for an image that is named by its digest. Throws while none does. */
  verify(image: string, authorities: readonly Authority[], context: SourceContext): Promise<string>;
}

/** Has no packages: for the one that only reads kinds and permissions. */
export const noSource: PackageSource = {
  resolve: refuse,
  pull: refuse,
  cached: () => Promise.resolve(undefined),
  tags: refuse,
  verify: refuse,
};

function refuse(): Promise<never> {
  return Promise.reject(FactErrors.NoSource());
}
