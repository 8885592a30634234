// Signatures as cosign stores them: beside an image, under a tag built from its digest, an image whose layers are the signed bytes.
// `sha256-HEX.sig` holds statements that name the digest, each with its signature in an annotation;
// `sha256-HEX.att` holds attestations, signed envelopes with a statement about the digest inside. The same images may instead
// refer to the signed one as their subject, as OCI 1.1 has it; and so may Sigstore's bundles, which cosign writes since its
// version 3 for signatures as for attestations. All places count.
//
// An authority is a public key, or identities that sign without keys of their own (keyless.ts). One that vouches is enough; it
// vouches when one signature verifies, or, where it lists attestations, when each of them is there and verifies. With a
// key, transparency logs and certificates are not looked at: the one that configures a key trusts that key.
import type { TrustMaterial } from '@sigstore/verify';
import { type Ask, type RegistryClient } from '../oci/client.ts';
import { RegistryError } from '../oci/errors.ts';
import { type Descriptor, parseManifest } from '../oci/manifest.ts';
import { fullNameOf, type Reference } from '../oci/reference.ts';
import { attestedTypes, BUNDLE, COSIGN_STATEMENT, predicateUri } from './attestation.ts';
import { CosignErrors } from './errors.ts';
import type { Keyless, SignedLayer } from './keyless.ts';
import { loadKey, type PublicKey } from './public-key.ts';
import { signedDigest, verifies } from './signature.ts';

export interface CosignAuthority {
  readonly name: string;
  /** PEM. Absent for keyless authorities. */
  readonly publicKey?: string;
  readonly keyless?: Keyless;
  /** sha224, sha256, sha384 or sha512. Default sha256. */
  readonly hashAlgorithm?: string;
  /** When there are any, each must be there and signed by this key; the plain signature does not count then. */
  readonly attestations?: readonly { readonly name: string; readonly predicateType: string }[];
}

/** Who vouches, or why each of them does not. */
export type Verdict = { readonly authority: string } | { readonly problems: readonly string[] };

const MAX_PAYLOAD_BYTES = 1024 * 1024;
const MAX_ATTESTATION_BYTES = 32 * 1024 * 1024;
const COSIGN = 'dev.cosign.';
const SIGNATURE = 'dev.cosignproject.cosign/signature';
const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
const ENVELOPE = 'application/vnd.dsse.envelope.v1+json';

/**
 * Asks the authorities about an image that is named by its digest. Throws NotSigned when there is nothing beside the
 * image yet (it may come), and RegistryError.
 */
export async function verifySignatures(
  client: RegistryClient,
  reference: Reference,
  authorities: readonly CosignAuthority[],
  ask: Ask = {},
  /** The trust root of keyless signatures. Without it they are not supported. Throws BadTrustRoot. */
  trust?: () => Promise<TrustMaterial>,
): Promise<Verdict> {
  const { digest } = reference;
  if (digest === undefined) throw CosignErrors.NoDigest(fullNameOf(reference));
  const referrers = once(async () => {
    const all = await client.referrers({ ...reference, digest }, ask);
    // Others (bills of material, scans) may be many.
    return all.filter(({ artifactType = COSIGN }) => artifactType.includes(COSIGN) || artifactType.startsWith(BUNDLE));
  });
  const stores = {
    signatures: once(() => read('sig', SIMPLE_SIGNING)),
    attestations: once(() => read('att', ENVELOPE)),
    bundles: once(() => bundles()),
  };

  async function read(suffix: string, mediaType: string): Promise<Descriptor[]> {
    const tag = `${digest?.replace(':', '-')}.${suffix}`;
    const beside = { ...reference, tag, digest: undefined };
    const found: Descriptor[][] = [];
    try {
      found.push(await layersOf(beside, mediaType));
    } catch (error) {
      if (!(error instanceof RegistryError) || error.failure !== 'not-found') throw error;
    }
    for (const referrer of await referrers()) {
      const layers = await layersOf({ ...reference, tag: undefined, digest: referrer.digest }, mediaType);
      if (layers.length > 0) found.push(layers);
    }
    if (found.length === 0) throw CosignErrors.NotSigned(fullNameOf(reference), tag);
    return found.flat();
  }

  async function layersOf(at: Reference, mediaType: string): Promise<Descriptor[]> {
    const parsed = parseManifest(await client.manifest(at, ask), fullNameOf(at));
    return 'image' in parsed ? parsed.image.layers.filter((layer) => layer.mediaType === mediaType) : [];
  }

  async function bundles(): Promise<Descriptor[]> {
    const found: Descriptor[] = [];
    for (const referrer of await referrers()) {
      const at = { ...reference, tag: undefined, digest: referrer.digest };
      const parsed = parseManifest(await client.manifest(at, ask), fullNameOf(at));
      if ('image' in parsed) found.push(...parsed.image.layers.filter(({ mediaType }) => mediaType.startsWith(BUNDLE)));
    }
    return found;
  }

  /** Returns the layers in either place. An image without layers in both places is reported. */
  async function withBundles(read: () => Promise<Descriptor[]>, limit: number): Promise<SignedLayer[]> {
    const newer = await stores.bundles();
    const older = await read().catch((error: unknown) => {
      if (newer.length === 0 || !CosignErrors.isNotSigned(error)) throw error;
      return [];
    });
    const layers: SignedLayer[] = [];
    for (const layer of [...older, ...newer]) {
      const bytes = await blobOf(layer, newer.includes(layer) ? MAX_ATTESTATION_BYTES : limit);
      if (bytes !== undefined) layers.push({ layer, bytes });
    }
    return layers;
  }

  async function keylessProblem(keyless: Keyless, wanted: NonNullable<CosignAuthority['attestations']>) {
    if (trust === undefined) return 'it has no key, and there is no trust root for signing without keys';
    const { keylessCheck } = await import('./keyless.ts');
    const check = keylessCheck(keyless, await trust());
    if (typeof check === 'string') return check;
    return wanted.length === 0
      ? check.signatureProblem(await withBundles(stores.signatures, MAX_PAYLOAD_BYTES), digest ?? '')
      : check.attestationProblem(await withBundles(stores.attestations, MAX_ATTESTATION_BYTES), digest ?? '', wanted);
  }

  const problems: string[] = [];
  let missing: Error | undefined;
  for (const authority of authorities) {
    if (authority.keyless !== undefined && authority.publicKey === undefined) {
      try {
        const problem = await keylessProblem(authority.keyless, authority.attestations ?? []);
        if (problem === undefined) return { authority: authority.name };
        problems.push(`authority ${JSON.stringify(authority.name)}: ${problem}`);
      } catch (error) {
        if (!CosignErrors.isNotSigned(error)) throw error;
        missing = error;
      }
      continue;
    }
    const key = loadKey(authority);
    if (typeof key === 'string') {
      problems.push(`authority ${JSON.stringify(authority.name)}: ${key}`);
      continue;
    }
    try {
      const wanted = authority.attestations ?? [];
      const problem =
        wanted.length === 0
          ? signatureProblem(await withBundles(stores.signatures, MAX_PAYLOAD_BYTES), key, digest)
          : attestationProblem(await withBundles(stores.attestations, MAX_ATTESTATION_BYTES), key, digest, wanted);
      if (problem === undefined) return { authority: authority.name };
      problems.push(`authority ${JSON.stringify(authority.name)}: ${problem}`);
    } catch (error) {
      if (!CosignErrors.isNotSigned(error)) throw error;
      missing = error;
    }
  }
  // A missing signature may still come. The answer is no only when every signature that could vouch exists and none does.
  if (missing !== undefined) throw missing;
  return { problems };

  async function blobOf(layer: Descriptor, limit: number): Promise<Buffer | undefined> {
    if (layer.size > limit) return undefined;
    const chunks: Buffer[] = [];
    for await (const chunk of client.blob(reference, layer, ask)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

/** Undefined when a signature of this key names the digest. */
function signatureProblem(layers: readonly SignedLayer[], key: PublicKey, digest: string): string | undefined {
  let signedOther = false;
  for (const { layer, bytes } of layers) {
    const signature = layer.annotations?.[SIGNATURE];
    if (layer.mediaType.startsWith(BUNDLE)) {
      if (attestedTypes(bytes, key, digest).includes(COSIGN_STATEMENT)) return undefined;
      continue;
    }
    if (signature === undefined || !verifies(key, bytes, Buffer.from(signature, 'base64'))) continue;
    if (signedDigest(bytes) === digest) return undefined;
    signedOther = true;
  }
  if (signedOther) return 'its key signed another image, and that signature was put beside this one';
  return layers.length === 0 ? 'there is no signature' : `none of ${layers.length} signatures is of its key`;
}

/** Undefined when every attestation that is wanted is there, of this key and about the digest. */
function attestationProblem(
  layers: readonly SignedLayer[],
  key: PublicKey,
  digest: string,
  wanted: NonNullable<CosignAuthority['attestations']>,
): string | undefined {
  const found = new Set(layers.flatMap(({ bytes }) => attestedTypes(bytes, key, digest)));
  const missing = wanted.filter(({ predicateType }) => !found.has(predicateUri(predicateType)));
  if (missing.length === 0) return undefined;
  return `its key signed no attestation ${missing.map(({ name, predicateType }) => `${name} (${predicateType})`).join(', ')}`;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let created: Promise<T> | undefined;
  return () => (created ??= make());
}
