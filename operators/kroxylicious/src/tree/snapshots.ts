// Snapshots are our own Secrets with copies of the content that pods mount for a cluster, if its proxy requests them
// (`rollout.onStaleInput: Snapshot`). Pods mount the copies and never the sources, so a source that is broken or deleted later does not
// keep a pod from starting.
//
// A snapshot holds only the keys that the configuration names. Its name is derived from its content by the keyed digest. So a snapshot
// never changes, and no name reveals a digest from which a secret could be guessed. Under a new digest key the name stays while the stored
// content is equal.
import { equal, Secret } from '@capstan/kube';
import { aside, type Digest, plainDigest, type Reader } from '@capstan/reconcile';
import { shortHash } from '../hash/combine-hashes.ts';
import { VirtualKafkaCluster } from '../kinds/index.ts';
import type { Mount, MountSource } from '../resolution/mounts.ts';
import { keysOf } from '../tls/resolve-tls.ts';
import type { ClusterFragment } from './cluster-fragment.ts';
import type { NamespacedRef } from './keys.ts';

export interface Snapshot {
  readonly name: string;
  /** The copied object: `Secret kms`. */
  readonly of: string;
  /** Base64. */
  readonly data: Readonly<Record<string, string>>;
}

export interface Snapshots {
  readonly mounts: readonly Mount[];
  readonly snapshots: readonly Snapshot[];
}

/** Returns the mounts with a snapshot for each source. Mounts without content stay unchanged. */
export function takeSnapshots(
  mounts: readonly Mount[],
  { ref, read, digest }: { ref: NamespacedRef; read: Reader; digest: Digest },
): Snapshots {
  const sources = new Map<string, Mount>();
  for (const mount of mounts) {
    const of = sourceOf(mount);
    const keys = [...new Set([...(sources.get(of)?.keys ?? []), ...(mount.keys ?? [])])].toSorted();
    sources.set(of, { ...mount, keys });
  }
  const before = new Map(read.get(VirtualKafkaCluster, ref, lastSnapshotsOf) ?? []);
  const snapshots = [...sources].flatMap(([of, { source, name, origin, keys = [] }]): Snapshot[] => {
    const from = origin ?? { source, namespace: ref.namespace, name };
    const data = contentOf(read, from, keys);
    if (data === undefined) return [];
    // The digest covers only the values: keyed for a Secret, plain for a ConfigMap. So the name depends on no other read.
    const content = from.source === 'Secret' ? digest(Object.values(data)) : plainDigest(Object.values(data));
    const wanted = `${ref.name}-snapshot-${shortHash(plainDigest(of, keys, content))}`;
    const last = before.get(of);
    const isSame =
      last !== undefined &&
      last !== wanted &&
      equal(read.get(Secret, { namespace: ref.namespace, name: last }, dataOf), data);
    return [{ name: isSame ? last : wanted, of, data }];
  });
  const names = new Map(snapshots.map(({ of, name }) => [of, name]));
  return {
    snapshots,
    mounts: mounts.map(({ origin: _origin, ...mount }) => {
      const snapshot = names.get(sourceOf(mount));
      return snapshot === undefined ? withoutKeys(mount) : { ...mount, snapshot };
    }),
  };
}

/** Returns a mount of the source itself, with all of its keys. */
export function withoutKeys({ keys: _keys, origin: _origin, ...mount }: Mount): Mount {
  return mount;
}

/** Returns the names of the snapshots that configurations mount. */
export function snapshotNames(...fragments: readonly (ClusterFragment | undefined)[]): string[] {
  const mounts = fragments.flatMap((fragment) => fragment?.mounts ?? []);
  return [...new Set(mounts.flatMap(({ snapshot }) => snapshot ?? []))];
}

/** The names of a cluster's snapshots that exist. */
export const storedSnapshotsOf = aside(
  ({ status }: VirtualKafkaCluster): readonly string[] => status?.memory?.snapshots ?? [],
);

/** For reads that only check whether a snapshot exists. */
export const isStored = aside((_snapshot: Secret) => true);

/** Returns the reason for a rollout that waits for its snapshots. */
export function snapshotsAwaited(names: readonly string[]): string {
  return `the snapshots ${names.join(', ')} are being stored; see the conditions of their virtual cluster if that takes long`;
}

/** Reported if snapshots were requested after the content broke: broken content cannot be copied. */
export const NO_SNAPSHOT_YET =
  'there is no snapshot of the last good content yet: the first one is taken when the content is usable again';

const sourceOf = ({ source, name }: Pick<Mount, 'source' | 'name'>) => `${source} ${name}`;

const dataOf = aside(({ data }: Secret) => data ?? {});

const lastSnapshotsOf = aside(({ status }: VirtualKafkaCluster): readonly (readonly [string, string])[] => {
  const { mounts = [] } = (status?.memory?.lastGood ?? {}) as Partial<ClusterFragment>;
  return mounts.flatMap((mount) => (mount.snapshot === undefined ? [] : [[sourceOf(mount), mount.snapshot] as const]));
});

function contentOf(
  read: Reader,
  { source, ...at }: { source: MountSource; namespace: string; name: string },
  keys: readonly string[],
): Record<string, string> | undefined {
  const find = keysOf(read, source, at);
  const found = keys.map((key) => [key, find?.(key)?.bytes.toString('base64')] as const);
  const isWhole = found.length > 0 && found.every(([, content]) => content !== undefined);
  return isWhole ? Object.fromEntries(found.map(([key, content = '']) => [key, content])) : undefined;
}
