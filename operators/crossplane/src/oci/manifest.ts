// Manifests and indexes, checked as far as they are used.
import { isRecord } from '@capstan/kube';
import { RegistryErrors } from './errors.ts';
import { DOCKER_LIST, OCI_INDEX } from './media-types.ts';
import { isDigest } from './reference.ts';

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: Platform;
  /** The purpose of a manifest that refers to another one. */
  readonly artifactType?: string;
}

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

export interface ImageManifest {
  readonly schemaVersion: 2;
  readonly mediaType?: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageIndex {
  readonly schemaVersion: 2;
  readonly mediaType?: string;
  readonly manifests: readonly Descriptor[];
}

/** A manifest as it came, its digest checked. */
export interface RawManifest {
  readonly digest: string;
  readonly mediaType: string;
  readonly body: Buffer;
}

/** Upstream allows as many. */
export const MAX_LAYERS = 256;

/** Reads a manifest or an index; errors call it by the second argument. Throws RegistryError. */
export function parseManifest(
  { mediaType, body }: RawManifest,
  what: string,
): { image: ImageManifest } | { index: ImageIndex } {
  const value = jsonOf(body, what);
  const stated = typeof value['mediaType'] === 'string' ? value['mediaType'] : mediaType;
  if (value['schemaVersion'] !== 2)
    throw RegistryErrors.Malformed(what, `its manifest has schema version ${String(value['schemaVersion'])}, not 2`);
  if (stated === OCI_INDEX || stated === DOCKER_LIST || Array.isArray(value['manifests']))
    return { index: { schemaVersion: 2, mediaType: stated, manifests: descriptors(value['manifests'], what) } };
  const layers = descriptors(value['layers'], what);
  if (layers.length > MAX_LAYERS)
    throw RegistryErrors.Malformed(what, `it has ${layers.length} layers, and ${MAX_LAYERS} is the limit`);
  const [config] = descriptors([value['config']], what);
  if (config === undefined) throw RegistryErrors.Malformed(what, 'it has no config');
  return { image: { schemaVersion: 2, mediaType: stated, config, layers, annotations: texts(value['annotations']) } };
}

/**
 * The manifest of an index that is taken: the only one, else that for linux/amd64, else the first that is for any
 * platform (attestations are for `unknown`). The package is the same in all of them.
 */
export function choosePlatform({ manifests }: ImageIndex): Descriptor | undefined {
  const real = manifests.filter(({ platform }) => platform === undefined || platform.os !== 'unknown');
  return (
    real.find(({ platform }) => platform?.os === 'linux' && platform.architecture === 'amd64') ??
    real[0] ??
    manifests[0]
  );
}

function jsonOf(body: Buffer, what: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // The error is thrown below.
  }
  throw RegistryErrors.Malformed(what, 'its manifest is not JSON');
}

function descriptors(value: unknown, what: string): Descriptor[] {
  if (!Array.isArray(value)) throw RegistryErrors.Malformed(what, 'its manifest lists nothing');
  return value.map((each: unknown) => descriptor(each, what));
}

function descriptor(value: unknown, what: string): Descriptor {
  const { mediaType, digest, size, annotations, platform, artifactType } = (value ?? {}) as Record<string, unknown>;
  if (typeof digest !== 'string' || !isDigest(digest))
    throw RegistryErrors.Malformed(what, 'its manifest names content by something else than a sha256 digest');
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw RegistryErrors.Malformed(what, `its manifest has no size for ${digest}`);
  return {
    mediaType: typeof mediaType === 'string' ? mediaType : '',
    digest,
    size,
    ...(annotations !== undefined && { annotations: texts(annotations) }),
    ...(platform !== undefined && { platform: platformOf(platform) }),
    ...(typeof artifactType === 'string' && artifactType !== '' && { artifactType }),
  };
}

function texts(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).filter(([, text]) => typeof text === 'string'),
  ) as Record<string, string>;
}

function platformOf(value: unknown): Platform {
  const { os, architecture, variant } = (value ?? {}) as Record<string, unknown>;
  return {
    os: typeof os === 'string' ? os : '',
    architecture: typeof architecture === 'string' ? architecture : '',
    ...(typeof variant === 'string' && { variant }),
  };
}
