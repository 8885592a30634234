// The content of a revision's package, or the reason why it is not known: the one place where references, ImageConfigs, pull secrets, the
// registry and verification come together. The payload, the runtime and the status of a revision all read it.
import { Secret } from '@capstan/kube';
import { type DerivationDefinition, type Digest, derivation, type Reader } from '@capstan/reconcile';
import type { Authority, PackageFault } from '../facts/package-source.ts';
import type { ImageInput, RegistryFacts } from '../facts/registry-facts.ts';
import { type ImageSettings, imageSettings } from '../images/image-settings.ts';
import { keychainOf } from '../images/keychain.ts';
import { DIGEST_ANNOTATION } from '../kinds/index.ts';
import type { Settings } from '../settings.ts';
import { PackageErrors } from '../xpkg/errors.ts';
import type { ParsedPackage } from '../xpkg/package.ts';
import { parseConstraint, parseVersion, satisfies } from '../xpkg/semver.ts';
import { type PackageKind, PROVIDER, packageKindOf, type RevisionObject } from './package-kind.ts';
import { imageByDigest, readReference } from './reference.ts';
import { followsVersion2 } from './version-2.ts';

export type RevisionContent = ReadyContent | FailedContent;

export interface ReadyContent {
  readonly state: 'ready';
  readonly content: ParsedPackage;
  /** Registry, repository and tag or digest: the image that the runtime pulls. */
  readonly resolvedImage: string;
  readonly settings: ImageSettings;
  /** Who vouches for the image, where a user must. */
  readonly verified: Verified | undefined;
}

export interface FailedContent {
  readonly state: 'failed';
  readonly reason: 'Unpack' | 'Parse' | 'Verify' | 'Constraint';
  readonly message: string;
  readonly settings?: ImageSettings;
  readonly resolvedImage?: string;
}

export interface Verified {
  readonly authority: string;
  /** Which image, by which keys: verified once, and again when either changes. */
  readonly subject: string;
}

export type RevisionContents = DerivationDefinition<RevisionContent>;

export function contentKey({ kind }: PackageKind, revision: string): string {
  return `${kind} ${revision}`;
}

export function createRevisionContents(settings: Settings, facts: RegistryFacts): RevisionContents {
  return derivation<RevisionContent>({
    name: 'content-of-revision',
    compute({ key, read, digest }) {
      const [kindName = '', name = ''] = key.split(' ');
      const packageKind = packageKindOf(kindName) ?? PROVIDER;
      const wanted = read.get(packageKind.revision, { name }, wantedOf);
      if (wanted === undefined) return failed('Unpack', `the revision ${name} does not exist`);
      return contentOf({ read, digest, settings, facts }, packageKind, wanted);
    },
  });
}

interface Tools {
  readonly read: Reader;
  readonly digest: Digest;
  readonly settings: Settings;
  readonly facts: RegistryFacts;
}

type Wanted = ReturnType<typeof wantedOf>;

const wantedOf = ({ metadata, spec, status }: RevisionObject) => ({
  image: spec.image,
  digest: metadata.annotations?.[DIGEST_ANNOTATION],
  policy: spec.packagePullPolicy,
  secrets: (spec.packagePullSecrets ?? []).map(({ name }) => name),
  ignoreConstraints: spec.ignoreCrossplaneConstraints,
  verified: status?.verified,
});

function contentOf(tools: Tools, packageKind: PackageKind, wanted: Wanted): RevisionContent {
  const { read, settings, facts } = tools;
  const original = readReference(wanted.image, settings.registry);
  if ('problem' in original) return failed('Unpack', `spec.package cannot be read: ${original.problem}`);
  const image = imageSettings(read, original.qualified);
  const resolved = readReference(image.image, settings.registry);
  if ('problem' in resolved) {
    const by = image.applied.find(({ reason }) => reason === 'RewriteImage')?.name ?? '';
    return failed('Unpack', `the ImageConfig ${by} makes ${image.image} of it: ${resolved.problem}`, image);
  }
  const secrets = [...wanted.secrets, ...(image.pullSecret === undefined ? [] : [image.pullSecret])];
  const keychain = keychainOf({ ...tools, secrets });
  const { credentials } = keychain;
  const digest = resolved.reference.digest ?? wanted.digest ?? (wanted.policy === 'Never' ? undefined : ask());
  if (typeof digest === 'object') return failed('Unpack', digest.problem, image, image.image);
  const byDigest = digest === undefined ? undefined : imageByDigest(resolved.reference, digest);
  const found =
    byDigest === undefined || wanted.policy === 'Never'
      ? read.fact(facts.cachedContent, byDigest ?? image.image)
      : read.fact(facts.content, { image: byDigest, credentials });
  if (found.value === undefined)
    return failed('Unpack', `${found.error?.message ?? 'no answer'}${missingSecrets()}`, image, image.image);
  if ('fault' in found.value) return failed('Parse', found.value.fault, image, image.image);
  const content = found.value;
  const unfit = unfitness(content, packageKind, wanted, settings);
  if (unfit !== undefined) return failed(unfit.reason, unfit.message, image, image.image);
  if (image.verification === undefined)
    return { state: 'ready', content, resolvedImage: image.image, settings: image, verified: undefined };
  if (byDigest === undefined)
    return failed('Verify', 'an image without a digest cannot be verified; name it by its digest', image, image.image);
  const verified = verify(tools, image, { image: byDigest, credentials }, wanted.verified);
  if ('fault' in verified) return failed('Verify', verified.fault, image, image.image);
  return { state: 'ready', content, resolvedImage: image.image, settings: image, verified };

  /** A revision that nothing wrote the digest on: the registry is asked. */
  function ask(): string | { problem: string } {
    const { value, error } = read.fact(facts.digest, { image: image.image, credentials });
    return value ?? { problem: `${error?.message ?? 'no answer'}${missingSecrets()}` };
  }

  function missingSecrets(): string {
    if (keychain.missing.length === 0) return '';
    return `; the pull secrets ${keychain.missing.join(', ')} are not usable Secrets in namespace ${settings.namespace}: create them with type kubernetes.io/dockerconfigjson`;
  }
}

function unfitness(
  { meta, foreign = [] }: ParsedPackage,
  { kind }: PackageKind,
  { ignoreConstraints }: Wanted,
  settings: Settings,
): Pick<FailedContent, 'reason' | 'message'> | undefined {
  if (meta.type !== kind)
    return {
      reason: 'Parse',
      message: `the package is a ${meta.type} and was installed as a ${kind}; create a ${meta.type} with it instead`,
    };
  if (foreign.length > 0 && !followsVersion2(settings))
    return { reason: 'Parse', message: PackageErrors.NotAPackage(foreign).message };
  const text = meta.crossplaneVersion;
  if (text === undefined || ignoreConstraints) return undefined;
  const constraint = parseConstraint(text);
  if (constraint === undefined)
    return {
      reason: 'Constraint',
      message: `the package asks for Crossplane ${JSON.stringify(text)}, which is no version constraint; correct the package, or set spec.ignoreCrossplaneConstraints`,
    };
  const version = parseVersion(settings.version);
  if (version !== undefined && satisfies(version, constraint)) return undefined;
  return {
    reason: 'Constraint',
    message: `the package asks for Crossplane ${text}, and this is ${settings.version}; use another version of the package, or set spec.ignoreCrossplaneConstraints`,
  };
}

/** Verifies the image by one of the authorities that the ImageConfig names. A verified image is not verified again. */
function verify(
  { read, digest, settings, facts }: Tools,
  image: ImageSettings,
  key: ImageInput,
  known: Verified | undefined,
): Verified | PackageFault {
  const by = image.applied.find(({ reason }) => reason === 'VerifyImage')?.name ?? '';
  const declared = image.verification?.cosign?.authorities ?? [];
  const keyless = declared.find(({ key: publicKey, keyless: identities }) => !publicKey && identities !== undefined);
  if (keyless !== undefined && settings.source.verifiesKeyless !== true)
    return {
      fault: `the ImageConfig ${by} verifies without a key (authority ${keyless.name}), and there is no trust root for that; start Crossplane with --sigstore-trusted-root, or use authorities with a key`,
    };
  const authorities: Authority[] = [];
  for (const { name, key: publicKey, keyless: identities, attestations } of declared) {
    if (publicKey === undefined && identities !== undefined) {
      authorities.push({ name, keyless: identities, ...(attestations && { attestations }) });
      continue;
    }
    if (publicKey === undefined)
      return {
        fault: `the authority ${name} of the ImageConfig ${by} has neither key nor keyless; give it one of them`,
      };
    const { name: secret, key: entry } = publicKey.secretRef;
    const data = read.get(Secret, { namespace: settings.namespace, name: secret })?.data?.[entry];
    if (data === undefined)
      return {
        fault: `the public key of authority ${name} is not there; put it under ${entry} into the Secret ${secret} in namespace ${settings.namespace}`,
      };
    authorities.push({
      name,
      publicKey: Buffer.from(data, 'base64').toString('utf8'),
      hashAlgorithm: publicKey.hashAlgorithm,
      ...(attestations && { attestations }),
    });
  }
  const id = digest(authorities);
  const subject = `${key.image} ${id}`;
  if (known?.subject === subject) return known;
  const { value, error } = read.fact(facts.voucher, { ...key, authorities });
  if (value === undefined)
    return { fault: `the image is not verified (ImageConfig ${by}): ${error?.message ?? 'no answer'}` };
  return { authority: value, subject };
}

function failed(
  reason: FailedContent['reason'],
  message: string,
  settings?: ImageSettings,
  resolvedImage?: string,
): FailedContent {
  return {
    state: 'failed',
    reason,
    message,
    ...(settings && { settings }),
    ...(resolvedImage === undefined ? {} : { resolvedImage }),
  };
}
