// Images that we make: layers whose bytes follow from their content alone, a config, a manifest.

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { isRecord } from '@capstan/kube';
import { digestOf } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import { OCI_CONFIG, OCI_LAYER_GZIP, OCI_MANIFEST } from '../oci/media-types.ts';
import { ANNOTATION, layerLabel } from './package-stream.ts';

export interface Layer {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  /** Digest of its unpacked content. */
  readonly diffId: string;
  /** Its bytes, as often as they are asked for. */
  open(): AsyncIterable<Uint8Array>;
  /** The value of the annotation and the label that mark its role: `base` for the package. */
  readonly mark?: string;
}

export interface BuiltImage {
  /** The digest of the manifest, by which a registry names the image. */
  readonly digest: string;
  readonly manifest: Buffer;
  readonly config: Buffer;
  readonly configDigest: string;
  readonly layers: readonly Layer[];
  readonly platform: { readonly os: string; readonly architecture: string };
}

/** Puts layers on top of those of a base, whose config is kept. */
export function buildImage(
  base: { config: Record<string, unknown>; layers: readonly Layer[] } | undefined,
  added: readonly Layer[],
): BuiltImage {
  const layers = [...(base?.layers ?? []), ...added];
  const config = configBytes(base?.config ?? { architecture: 'amd64', os: 'linux' }, layers, added);
  const configDigest = digestOf(config);
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config: { mediaType: OCI_CONFIG, digest: configDigest, size: config.length },
      layers: layers.map(descriptorOf),
    }),
  );
  const { os, architecture } = base?.config ?? {};
  return {
    digest: digestOf(manifest),
    manifest,
    config,
    configDigest,
    layers,
    platform: {
      os: typeof os === 'string' ? os : 'linux',
      architecture: typeof architecture === 'string' ? architecture : 'amd64',
    },
  };
}

/** A layer of a tar archive, gzipped. The archive is opened once now and once whenever the layer's bytes are read. */
export async function gzippedLayer(open: () => AsyncIterable<Uint8Array>, mark?: string): Promise<Layer> {
  const diffHash = createHash('sha256');
  async function* observed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of open()) {
      diffHash.update(chunk);
      yield chunk;
    }
  }
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of gzip(observed())) {
    hash.update(chunk);
    size += chunk.length;
  }
  return {
    mediaType: OCI_LAYER_GZIP,
    digest: `sha256:${hash.digest('hex')}`,
    size,
    diffId: `sha256:${diffHash.digest('hex')}`,
    open: () => gzip(open()),
    ...(mark !== undefined && { mark }),
  };
}

/** Gzip without a time and without the name of a system, so that every machine writes the same header. */
export async function* gzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const packed = Readable.from(chunks, { objectMode: false }).compose(
    createGzip({ level: 9 }),
  ) as AsyncIterable<Buffer>;
  let position = 0;
  for await (const chunk of packed) {
    if (position <= OS_BYTE && position + chunk.length > OS_BYTE) chunk[OS_BYTE - position] = UNKNOWN_OS;
    position += chunk.length;
    yield chunk;
  }
}

const OS_BYTE = 9;
const UNKNOWN_OS = 0xff;

function descriptorOf({ mediaType, digest, size, mark }: Layer): Descriptor {
  return { mediaType, digest, size, ...(mark !== undefined && { annotations: { [ANNOTATION]: mark } }) };
}

function configBytes(base: Record<string, unknown>, layers: readonly Layer[], added: readonly Layer[]): Buffer {
  const config = isRecord(base['config']) ? base['config'] : {};
  // A base that is a package itself does not stay one beside the new one.
  const labels = Object.entries(isRecord(config['Labels']) ? config['Labels'] : {}).filter(
    ([label]) => !label.startsWith(`${ANNOTATION}:`),
  );
  const marks = layers.flatMap(({ digest, mark }) => (mark === undefined ? [] : [[layerLabel(digest), mark] as const]));
  const history = Array.isArray(base['history']) ? base['history'] : undefined;
  return Buffer.from(
    JSON.stringify({
      ...base,
      config: { ...config, Labels: Object.fromEntries([...labels, ...marks]) },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      // A history must have an entry for each layer, or none at all.
      ...(history !== undefined && {
        history: [...(history as unknown[]), ...added.map(() => ({ created_by: 'crossplane xpkg build' }))],
      }),
    }),
  );
}
