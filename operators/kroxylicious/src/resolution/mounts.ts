// What a proxy pod mounts: each source of files is one volume, mounted read-only at one or more paths.
import { childName } from '@capstan/kube';

export type MountSource = 'Secret' | 'ConfigMap';

export interface Mount {
  readonly source: MountSource;
  /** Of the Secret or ConfigMap. */
  readonly name: string;
  readonly path: string;
  /** The keys of it that the configuration names; known while the content is. */
  readonly keys?: readonly string[];
  /** Where the content comes from, when the mounted object is a copy. */
  readonly origin?: { readonly source: MountSource; readonly namespace: string; readonly name: string };
  /** The Secret of our own that holds these keys: mounted in place of the source. */
  readonly snapshot?: string;
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

/** One volume: a whole Secret or ConfigMap, or single keys of snapshots of it. */
export interface MountedVolume extends Pick<Mount, 'source' | 'name'> {
  /** Whether the source itself is mounted. */
  readonly isWhole: boolean;
  /** Keys by the snapshot that they are taken from. */
  readonly snapshots: ReadonlyMap<string, readonly string[]>;
}

/** One for each source, in the order of their names, however often it is mounted. Of mounts that have one key, the first counts. */
export function mountedVolumes(mounts: readonly Mount[]): MountedVolume[] {
  const byName = new Map<string, Mount[]>();
  for (const mount of mounts) byName.set(volumeName(mount), [...(byName.get(volumeName(mount)) ?? []), mount]);
  return [...byName]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([, of]) => {
      const { source, name } = of[0] as Mount;
      const taken = new Set<string>();
      const snapshots = new Map<string, string[]>();
      for (const { snapshot, keys = [] } of of)
        for (const key of snapshot === undefined ? [] : keys) {
          if (taken.has(key)) continue;
          taken.add(key);
          snapshots.set(snapshot as string, [...(snapshots.get(snapshot as string) ?? []), key]);
        }
      return { source, name, isWhole: of.some(({ snapshot }) => snapshot === undefined), snapshots };
    });
}

/** Each mount once, by path, with all keys that are named of it. */
export function distinctMounts(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) {
    const known = byPath.get(mount.path);
    const keys = [...new Set([...(known?.keys ?? []), ...(mount.keys ?? [])])].toSorted();
    byPath.set(mount.path, { ...(known ?? mount), ...(keys.length === 0 ? {} : { keys }) });
  }
  return [...byPath.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1));
}
