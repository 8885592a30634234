// The mounts of a proxy pod: each source of files is one volume, mounted read-only at one or more paths.
import { childName } from '@capstan/kube';

export type MountSource = 'Secret' | 'ConfigMap';

export interface Mount {
  readonly source: MountSource;
  /** The name of the Secret or ConfigMap. */
  readonly name: string;
  readonly path: string;
  /** The keys that the configuration names. They are known only while the content is known. */
  readonly keys?: readonly string[];
  /** The source of the content, if the mounted object is a copy. */
  readonly origin?: { readonly source: MountSource; readonly namespace: string; readonly name: string };
  /** Our own Secret that holds these keys and is mounted instead of the source. */
  readonly snapshot?: string;
}

const ROOT = '/opt/kroxylicious';

/** The folders of the files, by purpose. */
export const MOUNT_PATHS = {
  clientCertificate: (name: string) => `${ROOT}/target-cluster/client-certs/${name}`,
  serverTrust: (name: string) => `${ROOT}/target-cluster/trusted-certs/${name}`,
  serverCertificate: (name: string) => `${ROOT}/virtual-cluster/server-certs/${name}`,
  clientTrust: (name: string) => `${ROOT}/virtual-cluster/trusted-certs/${name}`,
  secret: (name: string) => `${ROOT}/secure/secret/${name}`,
  configmap: (name: string) => `${ROOT}/secure/configmap/${name}`,
} as const;

/**
 * Returns the name of a volume. Names of Secrets and ConfigMaps may be longer and contain dots (`tls-for-kafka.example.com`), names of
 * volumes may not.
 */
export function volumeName({ source, name }: Pick<Mount, 'source' | 'name'>): string {
  return childName(source === 'Secret' ? 'secrets' : 'configmaps', name);
}

/** One volume: a whole Secret or ConfigMap, or single keys of snapshots of it. */
export interface MountedVolume extends Pick<Mount, 'source' | 'name'> {
  /** Whether the source itself is mounted, not a snapshot. */
  readonly isWhole: boolean;
  /** Keys by the name of the snapshot that contains them. */
  readonly snapshots: ReadonlyMap<string, readonly string[]>;
}

/**
 * Returns one volume for each source, sorted by name, however often it is mounted. If several mounts have the same key, the first one
 * counts.
 */
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

/** Returns each mount once, by path, with all keys that any of them names. */
export function distinctMounts(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) {
    const known = byPath.get(mount.path);
    const keys = [...new Set([...(known?.keys ?? []), ...(mount.keys ?? [])])].toSorted();
    byPath.set(mount.path, { ...(known ?? mount), ...(keys.length === 0 ? {} : { keys }) });
  }
  return [...byPath.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1));
}
