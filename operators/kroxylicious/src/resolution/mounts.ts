// What a proxy pod mounts: each source of files is one volume, mounted read-only at one or more paths.
import { validateDns1123Label } from '@capstan/kube';

export type MountSource = 'Secret' | 'ConfigMap';

export interface Mount {
  readonly source: MountSource;
  /** Of the Secret or ConfigMap. */
  readonly name: string;
  readonly path: string;
}

const ROOT = '/opt/kroxylicious';

/** Where the files of each purpose are. */
export const MOUNT_PATHS = {
  clientCertificate: (name: string) => `${ROOT}/target-cluster/client-certs/${name}`,
  serverTrust: (name: string) => `${ROOT}/target-cluster/trusted-certs/${name}`,
  serverCertificate: (name: string) => `${ROOT}/virtual-cluster/server-certs/${name}`,
  clientTrust: (name: string) => `${ROOT}/virtual-cluster/trusted-certs/${name}`,
  secret: (name: string) => `${ROOT}/secure/secret/${name}`,
  configmap: (name: string) => `${ROOT}/secure/configmap/${name}`,
} as const;

/** The longest name of a Secret or ConfigMap that can be mounted: with the prefix it is the name of a volume. */
export const MAX_MOUNTED = 63 - 'configmaps-'.length;

export function volumeName({ source, name }: Pick<Mount, 'source' | 'name'>): string {
  return `${source === 'Secret' ? 'secrets' : 'configmaps'}-${name}`;
}

/** Why a source cannot be a volume; undefined when it can. */
export function volumeFault(mount: Pick<Mount, 'source' | 'name'>): string | undefined {
  const [fault] = validateDns1123Label(volumeName(mount));
  if (fault === undefined) return undefined;
  return `the name of ${mount.source} ${mount.name} cannot be mounted, because the volume ${volumeName(mount)} ${fault}; give it a shorter name without dots`;
}

/** Each mount once, by path. */
export function distinctMounts(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) if (!byPath.has(mount.path)) byPath.set(mount.path, mount);
  return [...byPath.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1));
}
