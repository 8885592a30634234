// From layers to an image: the blobs, the manifests and the index of the OCI image specification, written as a layout (a folder that
// skopeo, podman and our own client push) and as docker-archives (for `docker load`).
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Architecture } from './debian-lock.ts';
import { type FileTree, tarOf } from './file-tree.ts';

export interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly bytes: Buffer;
}

export interface PlatformImage {
  readonly architecture: Architecture;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Layer[];
  /** The size of the files, in bytes. */
  readonly size: number;
}

export interface Layer extends Blob {
  /** Before compression. */
  readonly tar: Buffer;
  readonly diffId: string;
}

export interface ImageSettings {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
  /** RFC 3339. */
  readonly created: string;
}

export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

export function layerOf(tree: FileTree): Layer {
  const tar = tarOf(tree);
  // Without a time and a name in its header the same bytes compress to the same bytes.
  const bytes = gzipSync(tar, { level: 9 });
  return { ...blobOf(MEDIA.layer, bytes), tar, diffId: digestOf(tar) };
}

export function platformImage(
  architecture: Architecture,
  layers: readonly (Layer & { readonly comment: string })[],
  settings: ImageSettings,
): PlatformImage {
  const { name, version, description, user, entrypoint, created } = settings;
  const config = jsonBlob(MEDIA.config, {
    created,
    architecture,
    os: 'linux',
    config: {
      User: user,
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/usr/sbin',
        'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
        // As the embedded node starts programs: little memory outside of the heap.
        'MALLOC_ARENA_MAX=2',
        'MALLOC_MMAP_THRESHOLD_=65536',
        'MALLOC_TRIM_THRESHOLD_=131072',
      ],
      Entrypoint: entrypoint,
      Cmd: ['--help'],
      WorkingDir: '/',
      Labels: {
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ comment }) => ({ created, created_by: comment })),
  });
  const manifest = jsonBlob(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: descriptorOf(config),
    layers: layers.map(descriptorOf),
  });
  const size = layers.reduce((sum, { tar }) => sum + tar.length, 0);
  return { architecture, manifest, config, layers, size };
}

export function indexOf(images: readonly PlatformImage[], version: string): Blob {
  return jsonBlob(MEDIA.index, {
    schemaVersion: 2,
    mediaType: MEDIA.index,
    manifests: images.map(({ manifest, architecture }) => ({
      ...descriptorOf(manifest),
      platform: { os: 'linux', architecture },
    })),
    annotations: { 'org.opencontainers.image.version': version },
  });
}

/** A folder as the image layout specification has it, the index under the version's name. */
export function writeLayout(folder: string, images: readonly PlatformImage[], version: string): Blob {
  const index = indexOf(images, version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
  const blobs = images.flatMap(({ manifest, config, layers }) => [manifest, config, ...layers]);
  for (const { digest, bytes } of [...blobs, index])
    writeFileSync(join(folder, 'blobs', 'sha256', digest.slice('sha256:'.length)), bytes);
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const named = { ...descriptorOf(index), annotations: { 'org.opencontainers.image.ref.name': version } };
  writeFileSync(
    join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [named] }),
  );
  return index;
}

/** For `docker load`: one platform. */
export function dockerArchive({ config, layers }: PlatformImage, name: string): Buffer {
  const hex = (digest: string) => digest.slice('sha256:'.length);
  const tree: FileTree = new Map();
  const file = (path: string, bytes: Buffer) => tree.set(path, { type: 'file', mode: 0o644, bytes });
  file(`${hex(config.digest)}.json`, config.bytes);
  for (const { diffId, tar } of layers) file(`${hex(diffId)}/layer.tar`, tar);
  const manifest = [
    {
      Config: `${hex(config.digest)}.json`,
      RepoTags: [name],
      Layers: layers.map(({ diffId }) => `${hex(diffId)}/layer.tar`),
    },
  ];
  file('manifest.json', Buffer.from(JSON.stringify(manifest)));
  return tarOf(tree);
}

export function descriptorOf({ mediaType, digest, bytes }: Blob) {
  return { mediaType, digest, size: bytes.length };
}

function jsonBlob(mediaType: string, value: object): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(value)));
}

function blobOf(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, digest: digestOf(bytes), bytes };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
