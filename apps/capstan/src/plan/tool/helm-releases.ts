// Reads the manifests that Helm deployed last, from the Secret in which it keeps each revision of a release.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Client, isApiError, isRecord, Secret, type UnknownObject } from '@capstan/kube';
import { parseManifests } from '../read-manifests.ts';
import type { HelmRelease } from './assumed-tool.ts';

export interface HelmReleases {
  /** The objects of the deployed revision; undefined when it cannot be read. */
  objectsOf(release: HelmRelease): Promise<readonly UnknownObject[] | undefined>;
}

/** Reads each release once. */
export function helmReleases(client: Client, signal: AbortSignal): HelmReleases {
  const read = new Map<string, Promise<readonly UnknownObject[] | undefined>>();
  return {
    objectsOf(release) {
      const key = `${release.namespace}/${release.name}`;
      const known = read.get(key) ?? deployed(client, release, signal);
      read.set(key, known);
      return known;
    },
  };
}

async function deployed(client: Client, { name, namespace }: HelmRelease, signal: AbortSignal) {
  try {
    const labelSelector = `owner=helm,name=${name},status=deployed`;
    const { items } = await client.list(Secret, { namespace, labelSelector, signal });
    const versionOf = ({ metadata }: (typeof items)[number]) => Number(metadata.labels?.['version'] ?? 0);
    const [last] = items.toSorted((a, b) => versionOf(b) - versionOf(a));
    const data = last?.data?.['release'];
    if (data === undefined) return undefined;
    // Helm encodes the release once itself, and the API encodes the data of the Secret.
    const packed = Buffer.from(Buffer.from(data, 'base64').toString('latin1'), 'base64');
    const release: unknown = JSON.parse((await promisify(gunzip)(packed)).toString('utf8'));
    const manifest = isRecord(release) ? release['manifest'] : undefined;
    if (typeof manifest !== 'string') return undefined;
    return parseManifests(manifest, `the release ${name}`).map(({ object }) => object);
  } catch (error) {
    if (isApiError(error) && (error.code === 401 || error.code === 403)) return undefined;
    throw error;
  }
}
