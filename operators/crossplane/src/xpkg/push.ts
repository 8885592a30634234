// Publishing package files: layers first, then configs and manifests, and the tag last, so that no client that pulls meanwhile
// finds a tag whose parts are missing. Several files are one package for several platforms: an index over them.
import { isRecord } from '@capstan/kube';
import type { Ask, RegistryClient } from '../oci/client.ts';
import { digestOf } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import { OCI_CONFIG, OCI_INDEX, OCI_MANIFEST } from '../oci/media-types.ts';
import { type Reference, withDigest } from '../oci/reference.ts';
import { XpkgErrors } from './errors.ts';
import type { ImageSource } from './image-source.ts';
import { ANNOTATION, configOf, layerLabel } from './package-stream.ts';

export interface PushedPackage {
  /** The digest that the tag points to. */
  readonly digest: string;
  /** Layers and configs that went over; the others were there. */
  readonly blobs: number;
}

/** Pushes images under one tag. Throws RegistryError and PackageError. */
export async function pushImages(
  client: RegistryClient,
  reference: Reference,
  images: readonly ImageSource[],
  ask: Ask = {},
): Promise<PushedPackage> {
  const [only, ...others] = images;
  if (only === undefined) throw XpkgErrors.NoPackageFile('the command line', 0);
  let blobs = 0;
  const entries: { descriptor: Descriptor; body: Buffer; name: string }[] = [];
  for (const image of images) {
    const { manifest: body, platform, sent } = await pushBlobs(client, reference, image, ask);
    blobs += sent;
    const same = entries.find(({ descriptor }) => JSON.stringify(descriptor.platform) === JSON.stringify(platform));
    if (same !== undefined) throw XpkgErrors.SamePlatform(image.name, same.name);
    const descriptor = { mediaType: OCI_MANIFEST, digest: digestOf(body), size: body.length, platform };
    entries.push({ descriptor, body, name: image.name });
  }
  const [first] = entries;
  if (others.length === 0 && first !== undefined) {
    const digest = await client.pushManifest(reference, { mediaType: OCI_MANIFEST, body: first.body }, ask);
    return { digest, blobs };
  }
  for (const { descriptor, body } of entries)
    await client.pushManifest(withDigest(reference, descriptor.digest), { mediaType: OCI_MANIFEST, body }, ask);
  const manifests = entries.map(({ descriptor }) => descriptor);
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));
  return { digest: await client.pushManifest(reference, { mediaType: OCI_INDEX, body }, ask), blobs };
}

// Docker's archives cannot carry annotations: the values of the labels are written on the layers here.
async function pushBlobs(client: RegistryClient, reference: Reference, image: ImageSource, ask: Ask) {
  const { config, layers } = image.manifest;
  let sent = 0;
  for (const descriptor of [...layers, config]) {
    const { digest, size } = descriptor;
    if (await client.pushBlob(reference, { digest, size, open: () => image.blob(descriptor) }, ask)) sent++;
  }
  const found = await configOf(image);
  const labels = isRecord(found['config']) && isRecord(found['config']['Labels']) ? found['config']['Labels'] : {};
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config: { mediaType: OCI_CONFIG, digest: config.digest, size: config.size },
      layers: layers.map(({ mediaType, digest, size, annotations }) => {
        const mark = labels[layerLabel(digest)];
        const marks = typeof mark === 'string' ? { ...annotations, [ANNOTATION]: mark } : annotations;
        return { mediaType: ociType(mediaType), digest, size, ...(marks !== undefined && { annotations: marks }) };
      }),
    }),
  );
  const { os, architecture } = found;
  const platform = { os: textOr(os, 'linux'), architecture: textOr(architecture, 'amd64') };
  return { manifest, platform, sent };
}

function ociType(mediaType: string): string {
  if (mediaType.startsWith('application/vnd.oci.')) return mediaType;
  return mediaType.endsWith('.gzip')
    ? 'application/vnd.oci.image.layer.v1.tar+gzip'
    : 'application/vnd.oci.image.layer.v1.tar';
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}
