// Images for tests: of any layers, marked or not, in memory or pushed to a registry.
import { gzipSync } from 'node:zlib';
import type { RegistryClient } from '../oci/client.ts';
import { digestOf, verified } from '../oci/digest.ts';
import type { Descriptor, ImageManifest } from '../oci/manifest.ts';
import { OCI_CONFIG, OCI_LAYER_GZIP, OCI_MANIFEST } from '../oci/media-types.ts';
import { parseReference } from '../oci/reference.ts';
import { tarFile, writeTar } from './archive/tar-writer.ts';
import type { ImageSource } from './image-source.ts';
import { ANNOTATION, layerLabel } from './package-stream.ts';

export interface TestLayer {
  /** As stored. */
  readonly bytes: Buffer;
  readonly annotated?: boolean;
  readonly labelled?: boolean;
}

export interface TestImage extends ImageSource {
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly body: Buffer;
}

export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** A layer of files, gzipped. */
export async function layerOf(
  files: Readonly<Record<string, string>>,
  marks: Omit<TestLayer, 'bytes'> = {},
): Promise<TestLayer> {
  const archive = await bytesOf(writeTar(Object.entries(files).map(([name, text]) => tarFile(name, text))));
  return { bytes: gzipSync(archive), ...marks };
}

export function imageOf(layers: readonly TestLayer[]): TestImage {
  const blobs = new Map<string, Buffer>();
  const labels: Record<string, string> = {};
  const descriptors = layers.map(({ bytes, annotated, labelled }): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    if (labelled) labels[layerLabel(digest)] = 'base';
    return {
      mediaType: OCI_LAYER_GZIP,
      digest,
      size: bytes.length,
      ...(annotated && { annotations: { [ANNOTATION]: 'base' } }),
    };
  });
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: { Labels: labels },
      rootfs: { type: 'layers', diff_ids: descriptors.map(({ digest }) => digest) },
    }),
  );
  blobs.set(digestOf(config), config);
  const manifest: ImageManifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: { mediaType: OCI_CONFIG, digest: digestOf(config), size: config.length },
    layers: descriptors,
  };
  const body = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(body);
  async function* chunks(bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
  }
  return {
    name: 'test image',
    digest,
    manifestDigest: digest,
    manifest,
    blobs,
    body,
    blob: (descriptor) => verified(chunks(blobs.get(descriptor.digest) ?? Buffer.alloc(0)), descriptor, 'test image'),
  };
}

/** Pushes an image; its digest. */
export async function pushImage(client: RegistryClient, name: string, image: TestImage): Promise<string> {
  const reference = parseReference(name);
  for (const [digest, bytes] of image.blobs) {
    const open = async function* () {
      yield bytes;
    };
    await client.pushBlob(reference, { digest, size: bytes.length, open });
  }
  return client.pushManifest(reference, { mediaType: OCI_MANIFEST, body: image.body });
}
