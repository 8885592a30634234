// Which revision a package asks for: the name is built from the package's name and its image's digest. The registry is asked
// as seldom as the pull policy allows: never, once for each spec.package, or on a period.
import type { FactState, Reader } from '@capstan/reconcile';
import type { RegistryFacts } from '../facts/registry-facts.ts';
import type { ImageSettings } from '../images/image-settings.ts';
import type { Keychain } from '../images/keychain.ts';
import { friendlyId } from '../xpkg/names.ts';
import type { PackageObject } from './package-kind.ts';
import type { PackageReference } from './reference.ts';

export interface CurrentRevision {
  readonly name: string;
  /** Undefined for pull policy Never without a digest: the package is found by its reference. */
  readonly digest: string | undefined;
  /** The failure of this run, while the earlier digest still serves. */
  readonly note?: string;
}

interface CurrentInput {
  readonly read: Reader;
  readonly facts: RegistryFacts;
  readonly object: PackageObject;
  readonly image: ImageSettings;
  /** After rewriting. */
  readonly reference: PackageReference;
  readonly keychain: Keychain;
  /** The digest that an earlier run found for `identifier`. */
  readonly known: { readonly identifier: string | undefined; readonly digest: string | undefined };
}

export function currentRevision(input: CurrentInput): CurrentRevision | { readonly problem: string } {
  const { read, facts, object, image, reference, keychain, known } = input;
  const { package: identifier, packagePullPolicy: policy } = object.spec;
  const name = object.metadata.name ?? '';
  const by = (digest: string): CurrentRevision => ({ name: friendlyId(name, digest.replace(/^sha256:/, '')), digest });
  const { digest: pinned } = reference.reference;
  if (pinned !== undefined) return by(pinned);
  if (policy === 'Never') return { name: friendlyId(name, identifier), digest: undefined };
  const before = known.identifier === identifier ? known.digest : undefined;
  if (policy === 'IfNotPresent' && before !== undefined) return by(before);
  const { value, error }: FactState<string> = read.fact(policy === 'Always' ? facts.movingDigest : facts.digest, {
    image: image.image,
    credentials: keychain.credentials,
  });
  const problem = error === undefined ? undefined : `${error.message}${missing(keychain)}`;
  const digest = value ?? before;
  if (digest === undefined) return { problem: problem ?? 'the registry gave no answer' };
  return problem === undefined ? by(digest) : { ...by(digest), note: `the tag could not be checked again: ${problem}` };
}

function missing({ missing: secrets }: Keychain): string {
  return secrets.length === 0
    ? ''
    : `; these pull secrets are not there or not of a type for registries: ${secrets.join(', ')}`;
}
