// Image files: archives as `docker save` and other tools write them. Two layouts are in use, and our files have both: `manifest.json` with
// the paths of config and layers (Docker), and `index.json` over `blobs/sha256/…` (OCI). The archive is indexed once and then read in
// place; one that is compressed as a whole is unpacked beside first.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isRecord, reasonOf } from '@capstan/kube';
import { digestOf, verified } from '../oci/digest.ts';
import { choosePlatform, type Descriptor, type ImageManifest, parseManifest } from '../oci/manifest.ts';
import { DOCKER_CONFIG, DOCKER_MANIFEST, OCI_INDEX } from '../oci/media-types.ts';
import { decompress } from './archive/decompress.ts';
import { readTar } from './archive/tar-reader.ts';
import { type TarFile, tarFile, writeTar } from './archive/tar-writer.ts';
import { PackageErrors, XpkgErrors } from './errors.ts';
import type { BuiltImage } from './image.ts';
import type { ImageSource } from './image-source.ts';

export interface ImageFile extends ImageSource {
  /** Removes the unpacked files. */
  close(): Promise<void>;
}

/** Opens an image file. Throws PackageError when it is none. */
export async function openImageFile(path: string): Promise<ImageFile> {
  const folder = (await isCompressed(path)) ? await mkdtemp(join(tmpdir(), 'crossplane-image-')) : undefined;
  const close = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    const plain = folder === undefined ? path : join(folder, 'image.tar');
    if (folder !== undefined) await pipeline(decompress(createReadStream(path)), createWriteStream(plain));
    const archive = await indexArchive(plain, path);
    const found = (await ociImage(archive)) ?? (await dockerImage(archive));
    if (found === undefined)
      throw PackageErrors.NotAnImage(path, 'it has neither index.json nor manifest.json at its root');
    return { ...found, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The bytes of an image file, the same for the same image. */
export function imageFileBytes(image: BuiltImage): AsyncGenerator<Buffer> {
  const blobPath = (digest: string) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  const descriptor = {
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    digest: image.digest,
    size: image.manifest.length,
    platform: image.platform,
  };
  const files: TarFile[] = [
    tarFile('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' })),
    tarFile('index.json', JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [descriptor] })),
    tarFile(
      'manifest.json',
      JSON.stringify([
        {
          Config: blobPath(image.configDigest),
          RepoTags: null,
          Layers: image.layers.map(({ digest }) => blobPath(digest)),
        },
      ]),
    ),
    tarFile(blobPath(image.digest), image.manifest),
    tarFile(blobPath(image.configDigest), image.config),
  ];
  const seen = new Set<string>();
  for (const { digest, size, open } of image.layers) {
    // Two layers may be the same.
    if (!seen.has(digest)) files.push({ name: blobPath(digest), size, content: open });
    seen.add(digest);
  }
  return writeTar(files);
}

interface Archive {
  /** As the user knows it. */
  name: string;
  /** The bytes of a file in it; links within the archive are followed. */
  read(name: string): AsyncIterable<Buffer> | undefined;
  size(name: string): number | undefined;
  /** A small file, whole. */
  whole(name: string): Promise<Buffer | undefined>;
}

const MAX_SMALL_BYTES = 8 * 1024 * 1024;

async function indexArchive(path: string, name: string): Promise<Archive> {
  const files = new Map<string, { offset: number; size: number }>();
  const links = new Map<string, string>();
  for await (const entry of readTar(source(path))) {
    if (entry.type === 'file') files.set(entry.name, { offset: entry.offset, size: entry.size });
    if (entry.type === 'symlink') links.set(entry.name, join(entry.name, '..', entry.linkName));
    if (entry.type === 'hardlink') links.set(entry.name, entry.linkName);
  }
  // One step only: nothing that is written has more, and a ring of links has no end.
  const place = (file: string) => files.get(file) ?? files.get(links.get(file) ?? '');
  const read = (file: string): AsyncIterable<Buffer> | undefined => {
    const found = place(file);
    if (found === undefined) return undefined;
    return found.size === 0
      ? nothing()
      : createReadStream(path, { start: found.offset, end: found.offset + found.size - 1 });
  };
  return {
    name,
    read,
    size: (file) => place(file)?.size,
    async whole(file) {
      const found = place(file);
      if (found === undefined) return undefined;
      if (found.size > MAX_SMALL_BYTES) throw PackageErrors.TooLarge(`${file} of ${name}`, `${MAX_SMALL_BYTES} bytes`);
      const chunks: Buffer[] = [];
      for await (const chunk of read(file) ?? nothing()) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}

async function* nothing(): AsyncGenerator<Buffer> {}

async function* source(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) yield chunk as Buffer;
  } catch (error) {
    throw XpkgErrors.Unreadable(path, reasonOf(error));
  }
}

async function isCompressed(path: string): Promise<boolean> {
  try {
    await using file = await openFile(path);
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return (buffer[0] === 0x1f && buffer[1] === 0x8b) || buffer.readUInt32BE() === 0x28b52ffd;
  } catch (error) {
    throw XpkgErrors.Unreadable(path, reasonOf(error));
  }
}

async function ociImage(archive: Archive): Promise<ImageSource | undefined> {
  const body = await archive.whole('index.json');
  if (body === undefined) return undefined;
  const blobPath = (digest: string) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  let raw = { digest: digestOf(body), mediaType: OCI_INDEX, body };
  for (let depth = 0; depth < 4; depth++) {
    const parsed = parseManifest(raw, archive.name);
    if ('image' in parsed)
      return {
        name: archive.name,
        digest: raw.digest,
        manifestDigest: raw.digest,
        manifest: parsed.image,
        blob: (descriptor) => blobIn(archive, blobPath(descriptor.digest), descriptor),
      };
    const chosen = choosePlatform(parsed.index);
    const next = chosen === undefined ? undefined : await archive.whole(blobPath(chosen.digest));
    if (chosen === undefined || next === undefined)
      throw PackageErrors.NotAnImage(archive.name, 'its index.json names no manifest that is there');
    if (digestOf(next) !== chosen.digest)
      throw PackageErrors.NotAnImage(archive.name, 'its manifest has another digest');
    raw = { digest: chosen.digest, mediaType: chosen.mediaType, body: next };
  }
  throw PackageErrors.NotAnImage(archive.name, 'its index holds indexes without end');
}

// Docker's layout has no manifest and no digests: both are built from the files.
async function dockerImage(archive: Archive): Promise<ImageSource | undefined> {
  const body = await archive.whole('manifest.json');
  if (body === undefined) return undefined;
  const { config: configName, layers: layerNames } = dockerNames(body, archive.name);
  const configBody = await archive.whole(configName);
  if (configBody === undefined) throw PackageErrors.NotAnImage(archive.name, `${configName} is not in it`);
  const paths = new Map<string, string>();
  const layers: Descriptor[] = [];
  for (const name of layerNames) {
    const chunks = archive.read(name);
    if (chunks === undefined) throw PackageErrors.NotAnImage(archive.name, `the layer ${name} is not in it`);
    const digest = await digestOfChunks(chunks);
    paths.set(digest, name);
    layers.push({ mediaType: 'application/vnd.docker.image.rootfs.diff.tar', digest, size: archive.size(name) ?? 0 });
  }
  const config = { mediaType: DOCKER_CONFIG, digest: digestOf(configBody), size: configBody.length };
  paths.set(config.digest, configName);
  const manifest: ImageManifest = { schemaVersion: 2, mediaType: DOCKER_MANIFEST, config, layers };
  const digest = digestOf(JSON.stringify(manifest));
  return {
    name: archive.name,
    digest,
    manifestDigest: digest,
    manifest,
    blob: (descriptor) => blobIn(archive, paths.get(descriptor.digest) ?? '', descriptor),
  };
}

function dockerNames(body: Buffer, name: string): { config: string; layers: string[] } {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw PackageErrors.NotAnImage(name, 'its manifest.json is not JSON');
  }
  const images: unknown[] = Array.isArray(value) ? value : [];
  if (images.length !== 1) throw PackageErrors.NotAnImage(name, `it holds ${images.length} images, and must hold one`);
  const [image] = images;
  const { Config: config, Layers: layers } = isRecord(image) ? image : {};
  if (typeof config !== 'string' || !Array.isArray(layers) || !layers.every((layer) => typeof layer === 'string'))
    throw PackageErrors.NotAnImage(name, 'its manifest.json names no config and layers');
  return { config, layers };
}

function blobIn(
  archive: Archive,
  path: string,
  descriptor: Pick<Descriptor, 'digest' | 'size'>,
): AsyncIterable<Buffer> {
  const chunks = archive.read(path);
  if (chunks === undefined) throw PackageErrors.NotAnImage(archive.name, `${descriptor.digest} is not in it`);
  return verified(chunks, descriptor, archive.name);
}

async function digestOfChunks(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return `sha256:${hash.digest('hex')}`;
}
