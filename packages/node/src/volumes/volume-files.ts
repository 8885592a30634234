// The content of a volume: files from ConfigMaps, Secrets, the pod itself and tokens.
import type { ConfigMap, KeyToPath, Pod, Secret, Volume, VolumeProjection } from '@capstan/kube';
import { type Facts, fieldValue, resourceValue } from '../container/downward.ts';
import type { FileContent } from './atomic-folder.ts';

export interface VolumeSources extends Facts {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** A token for the pod's ServiceAccount. */
  token(audience: string | undefined, seconds: number | undefined): Promise<string>;
  allocatable: Record<string, string>;
  /** Applied to texts from ConfigMaps. */
  substitute(text: string): string;
}

export type VolumeContent = { files: Map<string, FileContent> } | { missing: string };

/**
 * How a volume is provided: `files` are written and kept up to date, `empty` is a folder for the pod's own use. A folder of the
 * host that may be created is such a one too: pods of this node never see the machine's own.
 */
export function volumeKind(volume: Volume): 'files' | 'empty' | undefined {
  if (volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected) return 'files';
  return volume.emptyDir === undefined && volume.hostPath?.type !== 'DirectoryOrCreate' ? undefined : 'empty';
}

/** The files of a volume of the kind `files`. */
export async function volumeContent(volume: Volume, sources: VolumeSources): Promise<VolumeContent> {
  const { configMap, secret, downwardAPI, projected } = volume;
  const files = new Map<string, FileContent>();
  const parts: VolumeProjection[] = [
    ...(configMap === undefined ? [] : [{ configMap }]),
    ...(secret === undefined ? [] : [{ secret: { ...secret, name: secret.secretName ?? '' } }]),
    ...(downwardAPI === undefined ? [] : [{ downwardAPI }]),
    ...(projected?.sources ?? []),
  ];
  const mode = configMap?.defaultMode ?? secret?.defaultMode ?? downwardAPI?.defaultMode ?? projected?.defaultMode;
  for (const part of parts) {
    const missing = await addPart(part, mode, sources, files);
    if (missing !== undefined) return { missing };
  }
  return { files };
}

async function addPart(
  part: VolumeProjection,
  mode: number | undefined,
  sources: VolumeSources,
  files: Map<string, FileContent>,
): Promise<string | undefined> {
  const { configMap, secret, downwardAPI, serviceAccountToken } = part;
  const withMode = (content: Buffer, own: number | undefined): FileContent => {
    const chosen = own ?? mode;
    return chosen === undefined ? { content } : { content, mode: chosen };
  };
  const add = (path: string, content: Buffer, own: number | undefined) => files.set(path, withMode(content, own));
  if (configMap !== undefined) {
    const { name = '', items, optional = false } = configMap;
    const found = sources.configMap(name);
    if (found === undefined) return optional ? undefined : `configmap "${name}" not found`;
    const values = new Map<string, Buffer>();
    for (const [key, text] of Object.entries(found.data ?? {})) values.set(key, Buffer.from(sources.substitute(text)));
    for (const [key, text] of Object.entries(found.binaryData ?? {})) values.set(key, Buffer.from(text, 'base64'));
    return addValues(values, items, optional, `configmap ${name}`, add);
  }
  if (secret !== undefined) {
    const { name = '', items, optional = false } = secret;
    const found = sources.secret(name);
    if (found === undefined) return optional ? undefined : `secret "${name}" not found`;
    const values = new Map(Object.entries(found.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
    return addValues(values, items, optional, `secret ${name}`, add);
  }
  for (const { path, fieldRef, resourceFieldRef, mode: own } of downwardAPI?.items ?? []) {
    const text =
      fieldRef === undefined
        ? resource(sources.pod, resourceFieldRef, sources.allocatable)
        : fieldValue(fieldRef.fieldPath, sources);
    if (text === undefined) return `file ${path} refers to something that the pod does not have`;
    add(path, Buffer.from(text), own);
  }
  if (serviceAccountToken !== undefined) {
    const { path, audience, expirationSeconds } = serviceAccountToken;
    add(path, Buffer.from(await sources.token(audience, expirationSeconds)), 0o600);
  }
  return undefined;
}

function addValues(
  values: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  isOptional: boolean,
  from: string,
  add: (path: string, content: Buffer, mode: number | undefined) => void,
): string | undefined {
  if (!items?.length) {
    for (const [key, content] of values) add(key, content, undefined);
    return undefined;
  }
  for (const { key, path, mode } of items) {
    const content = values.get(key);
    if (content !== undefined) add(path, content, mode);
    else if (!isOptional) return `references non-existent config key: ${key} in ${from}`;
  }
  return undefined;
}

function resource(
  pod: Pod,
  reference: { containerName?: string; resource: string; divisor?: string } | undefined,
  allocatable: Record<string, string>,
): string | undefined {
  const container = pod.spec?.containers.find(({ name }) => name === reference?.containerName);
  if (container === undefined || reference === undefined) return undefined;
  return resourceValue(reference.resource, reference.divisor, container, allocatable);
}
