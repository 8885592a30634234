// What a proxy pod mounts: each source of files is one volume, mounted read-only at one or more paths.
import { childName } from '@capstan/kube';

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

/** Names of Secrets and ConfigMaps may be longer and have dots, as `tls-for-kafka.example.com`; those of volumes may not. */
export function volumeName({ source, name }: Pick<Mount, 'source' | 'name'>): string {
  return childName(source === 'Secret' ? 'secrets' : 'configmaps', name);
}

/** Each mount once, by path. */
export function distinctMounts(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) if (!byPath.has(mount.path)) byPath.set(mount.path, mount);
  return [...byPath.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1));
}
