// An image, wherever it lies: its manifest, its config, its layers as bytes that are checked on their way. A registry
// and a package file look the same from here.

import { type Ask, type RegistryClient } from '../oci/client.ts';
import { digestOf } from '../oci/digest.ts';
import { RegistryErrors } from '../oci/errors.ts';
import { choosePlatform, type Descriptor, type ImageManifest, parseManifest } from '../oci/manifest.ts';
import { fullNameOf, type Reference, withDigest } from '../oci/reference.ts';

export interface ImageSource {
  /** For errors. */
  readonly name: string;
  /** The digest of the requested object: of the index, if there is one. */
  readonly digest: string;
  /** The digest of the manifest. */
  readonly manifestDigest: string;
  readonly manifest: ImageManifest;
  /** The bytes of the config or of a layer, as they are stored. */
  blob(descriptor: Pick<Descriptor, 'digest' | 'size'>): AsyncIterable<Uint8Array>;
}

const MAX_INDEX_DEPTH = 2;

/** The image behind a reference; of an index the manifest for linux/amd64, or whichever there is. */
export async function remoteImage(client: RegistryClient, reference: Reference, ask: Ask = {}): Promise<ImageSource> {
  const name = fullNameOf(reference);
  let raw = await client.manifest(reference, ask);
  const { digest } = raw;
  for (let depth = 0; ; depth++) {
    const parsed = parseManifest(raw, name);
    if ('image' in parsed) {
      return {
        name,
        digest,
        manifestDigest: digestOf(raw.body),
        manifest: parsed.image,
        blob: (descriptor) => client.blob(reference, descriptor, ask),
      };
    }
    const chosen = choosePlatform(parsed.index);
    if (chosen === undefined) throw RegistryErrors.Malformed(name, 'its index is empty');
    if (depth >= MAX_INDEX_DEPTH) throw RegistryErrors.Malformed(name, 'its index holds indexes without end');
    raw = await client.manifest(withDigest(reference, chosen.digest), ask);
  }
}
