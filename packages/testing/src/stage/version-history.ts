// The known versions of each collection, from answers to writes and from events of watches. A watch that resumes at the last of them has no
// events to bring at first, and need not be waited for.
import type { KubeObject, WatchEvent } from '@capstan/kube';

export interface VersionHistory {
  /** An answer to a write; without a version where the object is gone. */
  written(write: Written): void;
  seen(collection: string, event: WatchEvent): void;
  /** Whether a watch from there may have something to bring at once. */
  goesOnAfter(collection: string, resourceVersion: string | undefined): boolean;
}

export function createVersionHistory(): VersionHistory {
  const latest = new Map<string, bigint>();
  /** Collections of objects that are gone, by uid, until a watch reports in which version. */
  const gone = new Map<string, string>();
  /** The uids that a watch has reported, which may be before the answer to the deletion. */
  const reported = new Set<string>();
  const reach = (collection: string, version: bigint) => {
    if (version > (latest.get(collection) ?? 0n)) latest.set(collection, version);
  };
  return {
    written({ collection, uid, resourceVersion }) {
      if (resourceVersion !== undefined) reach(collection, resourceVersion);
      else if (!reported.has(uid)) gone.set(uid, collection);
    },
    seen(collection, { type, object }) {
      const { uid = '', resourceVersion = '' } = (object as KubeObject).metadata ?? {};
      if (type === 'ERROR' || !isVersion(resourceVersion)) return;
      if (type === 'DELETED') {
        gone.delete(uid);
        reported.add(uid);
      }
      reach(collection, BigInt(resourceVersion));
    },
    goesOnAfter(collection, resourceVersion) {
      // Without a version it begins with everything that there is; 0 is any.
      if (resourceVersion === undefined || !isVersion(resourceVersion) || resourceVersion === '0') return true;
      return BigInt(resourceVersion) < (latest.get(collection) ?? 0n) || [...gone.values()].includes(collection);
    },
  };
}

/** As Kubernetes writes them; those of some other servers do not compare. */
export const isVersion = (text: string) => /^\d+$/.test(text);

interface Written {
  readonly collection: string;
  readonly uid: string;
  readonly resourceVersion: bigint | undefined;
}
