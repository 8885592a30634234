// Where the package is in an image. Three ways lead to it, the first that does is taken:
//
//   1. the layer that its annotation calls `io.crossplane.xpkg: base`;
//   2. the layer that a label of the config names (`io.crossplane.xpkg:sha256:…: base`), because Docker's manifests and
//      archives cannot carry annotations;
//   3. the whole image as a file system, from the top layer down: the first that has package.yaml, or that deletes it.
//
// Layers are streamed; nothing of a runtime's gigabytes is kept. Every layer that is opened is read to its end, so that
// its digest has been checked when this is done.

import { isRecord } from '@capstan/kube';
import type { Descriptor } from '../oci/manifest.ts';
import { type DecompressLimits, decompress } from './archive/decompress.ts';
import { readTar, type TarLimits } from './archive/tar-reader.ts';
import { PackageErrors } from './errors.ts';
import type { ImageSource } from './image-source.ts';

export const PACKAGE_FILE = 'package.yaml';
export const ANNOTATION = 'io.crossplane.xpkg';
export const PACKAGE_LAYER = 'base';
export const EXAMPLES_LAYER = 'upbound';

export interface StreamLimits extends DecompressLimits, TarLimits {
  /** The limit of package.yaml. Default 200 MiB, as upstream. */
  readonly maxPackageBytes?: number;
}

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

/** The bytes of package.yaml. The one that uses them must wait for the end. Throws PackageError and RegistryError. */
export async function* packageStream(image: ImageSource, limits: StreamLimits = {}): AsyncGenerator<Buffer> {
  const marked = await markedLayer(image);
  if (marked !== undefined) {
    const found = yield* streamOf(image, marked, limits);
    if (found !== 'file') throw PackageErrors.NoStream(`the package layer of ${image.name}`);
    return;
  }
  for (const layer of image.manifest.layers.toReversed()) {
    const found = yield* streamOf(image, layer, limits);
    if (found === 'file') return;
    if (found === 'deleted') break;
  }
  throw PackageErrors.NoStream(image.name);
}

/** The label of a config that marks a layer. */
export function layerLabel(digest: string): string {
  return `${ANNOTATION}:${digest}`;
}

/** The layer that is marked as the package. */
export async function markedLayer(image: ImageSource): Promise<Descriptor | undefined> {
  const { layers } = image.manifest;
  const annotated = onlyOne(
    layers.filter(({ annotations }) => annotations?.[ANNOTATION] === PACKAGE_LAYER),
    image,
  );
  if (annotated !== undefined) return annotated;
  const labels = await labelsOf(image);
  return onlyOne(
    layers.filter(({ digest }) => labels[layerLabel(digest)] === PACKAGE_LAYER),
    image,
  );
}

/** The same bytes twice are one package. */
function onlyOne(layers: readonly Descriptor[], { name }: ImageSource): Descriptor | undefined {
  const digests = new Set(layers.map(({ digest }) => digest));
  if (digests.size > 1) throw PackageErrors.TwoStreams(name, digests.size);
  return layers[0];
}

/** The image's config. */
export async function configOf(image: ImageSource): Promise<Record<string, unknown>> {
  const { config } = image.manifest;
  if (config.size > MAX_CONFIG_BYTES)
    throw PackageErrors.TooLarge(`the config of ${image.name}`, `${MAX_CONFIG_BYTES} bytes`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of image.blob(config)) chunks.push(chunk);
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // The error is thrown below.
  }
  throw PackageErrors.NotAnImage(image.name, 'its config is not JSON');
}

async function labelsOf(image: ImageSource): Promise<Record<string, unknown>> {
  // Things that are no images (signatures, charts) have configs of other types, which may be anything.
  if (!/image/.test(image.manifest.config.mediaType)) return {};
  const { config } = await configOf(image);
  const labels = isRecord(config) ? config['Labels'] : undefined;
  return isRecord(labels) ? labels : {};
}

async function* streamOf(
  image: ImageSource,
  layer: Descriptor,
  limits: StreamLimits,
): AsyncGenerator<Buffer, 'file' | 'deleted' | 'none'> {
  const { maxPackageBytes = 200 * 1024 ** 2 } = limits;
  let found: 'file' | 'deleted' | 'none' = 'none';
  for await (const entry of readTar(decompress(image.blob(layer), limits), limits)) {
    if (entry.name === `.wh.${PACKAGE_FILE}` || entry.name === '.wh..wh..opq') {
      if (found === 'none') found = 'deleted';
    } else if (entry.name === PACKAGE_FILE) {
      if (entry.type !== 'file')
        throw PackageErrors.Hostile(`package.yaml of ${image.name} is not a file but a ${entry.type}`);
      if (found === 'file') throw PackageErrors.Hostile(`${image.name} has package.yaml twice`);
      if (entry.size > maxPackageBytes)
        throw PackageErrors.TooLarge(`package.yaml of ${image.name}`, `${maxPackageBytes} bytes`);
      found = 'file';
      yield* entry.content();
    }
  }
  return found;
}
