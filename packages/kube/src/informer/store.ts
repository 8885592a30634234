import type { Clock } from '../clock.ts';
import { type KubeObject, keyOf, keyOfObject, type ObjectKey, type ObjectMeta, type ObjectRef } from '../object.ts';
import { compareResourceVersions, isNewerResourceVersion } from '../resource-version.ts';
import type { Ingest, RawObject } from './ingest.ts';

// The cache of one informer and the rules by which it changes. Three sources write to it: lists, watch events and the
// answers to our own writes, which run ahead of the watch. One order keeps the copy exact, the resourceVersion:
//
// - `resourceVersion` is the point up to which everything is known; lists, events and bookmarks move it, own writes do not.
// - Watch events come in that order, so an event from before it is a replay and is ignored.
// - An object never goes back: a version older than the cached one is ignored.
// - A cached version beyond `resourceVersion` is an own write; a list that is older than it does not remove it, because
//   the watch that follows will show its later state.
// - An own write at or before `resourceVersion` was already reported by the watch: if the cache does not have the object, it
//   has been deleted since, and must not come back.
// - A uid that was deleted never comes back; a tombstone remembers those deleted by us until the watch has passed.
//
// A list that ends before `resourceVersion` means that the server lost history (restored from a backup): then the list is
// the truth and nothing of the old order counts.

export type Change<T> =
  | { readonly type: 'upsert'; readonly key: ObjectKey; readonly object: T; readonly old: T | undefined }
  | { readonly type: 'delete'; readonly key: ObjectKey; readonly object: T };

/** How a watch event was taken: `replayed` ones changed nothing. */
export type Taken = 'changed' | 'replayed';

export interface Store<T extends KubeObject> {
  readonly resourceVersion: string | undefined;
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  /** In the order of keys; the same array until something changes. */
  list(): readonly T[];
  entries(): IterableIterator<[ObjectKey, T]>;
  upserted(raw: RawObject, changes: Change<T>[]): Taken;
  deleted(raw: RawObject, changes: Change<T>[]): Taken;
  /** Everything up to here is known (a bookmark). */
  advance(resourceVersion: string): void;
  beginListing(): Listing<T>;
  /** This is on its way to the server: its parts are kept once, also if the watch shows them first. Ends with the returned call. */
  sending(object: KubeObject): () => void;
  /** `isSelected` is undefined where only the server can tell. */
  observeWrite(raw: RawObject, isSelected: boolean | undefined, changes: Change<T>[]): void;
  observeDelete(ref: ObjectRef, uid: string, resourceVersion: string | undefined, changes: Change<T>[]): void;
}

/** An unfinished list. It keeps only objects that differ from the cache, and nothing is visible until the end. */
export interface Listing<T extends KubeObject> {
  readonly count: number;
  add(raw: RawObject): void;
  remove(raw: RawObject): void;
  /** Deletes objects that are not in the list, then upserts those that differ. */
  commit(resourceVersion: string, changes: Change<T>[]): void;
}

export function createStore<T extends KubeObject>(ingest: Ingest<T>, clock: Clock): Store<T> {
  const objects = new Map<ObjectKey, T>();
  const tombstones = new Map<ObjectKey, Tombstone>();
  const sent = new Map<ObjectKey, KubeObject>();
  let resourceVersion: string | undefined;
  /** Whose event moved resourceVersion: the one event that may come a second time with the same version. */
  let lastKey: ObjectKey | undefined;
  let sortedKeys: readonly ObjectKey[] | undefined;
  let sorted: readonly T[] | undefined;

  function put(key: ObjectKey, raw: RawObject, changes: Change<T>[]): void {
    putKept(key, ingest.keep(raw, objects.get(key), sent.get(key)), changes);
  }

  function putKept(key: ObjectKey, object: T, changes: Change<T>[]): void {
    let old = objects.get(key);
    if (old && old.metadata.uid !== object.metadata.uid) {
      changes.push({ type: 'delete', key, object: old });
      old = undefined;
    }
    if (!objects.has(key)) sortedKeys = undefined;
    objects.set(key, object);
    sorted = undefined;
    changes.push({ type: 'upsert', key, object, old });
  }

  function drop(key: ObjectKey, changes: Change<T>[]): Taken {
    const object = objects.get(key);
    if (!object) return 'replayed';
    objects.delete(key);
    sortedKeys = undefined;
    sorted = undefined;
    changes.push({ type: 'delete', key, object });
    return 'changed';
  }

  /** Returns true for an event from before the known version. Records the version of other events. */
  function isReplay(key: ObjectKey, version: string): boolean {
    const order = compareResourceVersions(version, resourceVersion);
    if (order !== undefined && (order < 0 || (order === 0 && key === lastKey))) return true;
    resourceVersion = version;
    lastKey = key;
    return false;
  }

  /** True for a version that neither a list nor the watch can have reported yet. */
  function isUntold(version: string): boolean {
    return resourceVersion === undefined || isNewerResourceVersion(version, resourceVersion);
  }

  /** True for an object that we deleted, and for any that had the name before. */
  function isBuried(key: ObjectKey, { uid, resourceVersion: version }: ObjectMeta): boolean {
    const tombstone = tombstones.get(key);
    if (tombstone === undefined) return false;
    if (uid !== undefined && tombstone.uids.includes(uid)) return true;
    return (compareResourceVersions(version, tombstone.lastVersion) ?? 1) <= 0;
  }

  function bury(
    key: ObjectKey,
    uids: readonly string[],
    lastVersion: string | undefined,
    deletedAt: string | undefined,
  ) {
    const before = tombstones.get(key);
    const isLatest = !before?.lastVersion || isNewerResourceVersion(lastVersion, before.lastVersion);
    // Taken out first, so that the map stays in the order of age.
    tombstones.delete(key);
    tombstones.set(key, {
      uids: [...(before?.uids ?? []), ...uids],
      since: clock.now(),
      lastVersion: isLatest ? lastVersion : before.lastVersion,
      deletedAt,
    });
    forget();
  }

  /** Drops tombstones that the watch has passed: surely where the version of the deletion is known, else after some time. */
  function forget(): void {
    for (const [key, { since, lastVersion, deletedAt }] of tombstones) {
      const order = compareResourceVersions(deletedAt ?? lastVersion, resourceVersion);
      const isPast = order !== undefined && order <= 0;
      const isOld = clock.now() - since >= TOMBSTONE_MS;
      const isDone = isPast ? deletedAt !== undefined || isOld : order === undefined && isOld;
      if (!isDone) return;
      tombstones.delete(key);
    }
  }

  return {
    get resourceVersion() {
      return resourceVersion;
    },
    get size() {
      return objects.size;
    },
    get: (key) => objects.get(key),
    entries: () => objects.entries(),
    list() {
      sortedKeys ??= [...objects.keys()].sort();
      sorted ??= Object.freeze(sortedKeys.map((key) => objects.get(key)).filter((object) => object !== undefined));
      return sorted;
    },

    upserted(raw, changes) {
      const key = keyOfObject(raw);
      const version = raw.metadata.resourceVersion;
      if (isReplay(key, version)) return 'replayed';
      const cached = objects.get(key);
      // An event of an object that we deleted was still in transit. An older object with its name is gone too.
      if (isBuried(key, raw.metadata)) return cached && isNewer(version, cached) ? drop(key, changes) : 'replayed';
      if (cached && !isNewer(version, cached)) return 'replayed';
      put(key, raw, changes);
      return 'changed';
    },

    deleted(raw, changes) {
      const key = keyOfObject(raw);
      const { uid, resourceVersion: version } = raw.metadata;
      const cached = objects.get(key);
      // Some servers stamp a deletion with the object's last version instead of a new one: no replay can equal the cache.
      const isLastVersion = cached?.metadata.resourceVersion === version && cached.metadata.uid === uid;
      if (isReplay(key, version) && !isLastVersion) return 'replayed';
      // An object that leaves the selector is reported as deleted too: it is really gone only if that is newer than all
      // known versions.
      const tombstone = tombstones.get(key);
      if (tombstone && isNewerResourceVersion(version, tombstone.lastVersion)) {
        tombstone.uids = tombstone.uids.filter((each) => each !== uid);
        if (tombstone.uids.length === 0) tombstones.delete(key);
      }
      if (!cached) return 'replayed';
      const order = compareResourceVersions(version, cached.metadata.resourceVersion);
      // Older than an own write to it, or to its successor: the watch has yet to catch up.
      if (order === undefined ? cached.metadata.uid !== uid : order < 0) return 'replayed';
      return drop(key, changes);
    },

    advance(version) {
      const order = compareResourceVersions(version, resourceVersion);
      if (order !== undefined && order < 0) return;
      if (order !== 0) lastKey = undefined;
      resourceVersion = version;
      forget();
    },

    beginListing() {
      const differing = new Map<ObjectKey, T>();
      const same = new Set<ObjectKey>();
      const begun = clock.now();
      return {
        get count() {
          return differing.size + same.size;
        },
        add(raw) {
          const key = keyOfObject(raw);
          const cached = objects.get(key);
          if (cached && isSame(cached, raw)) {
            differing.delete(key);
            same.add(key);
          } else {
            same.delete(key);
            differing.set(key, ingest.keep(raw, cached));
          }
        },
        remove(raw) {
          const key = keyOfObject(raw);
          differing.delete(key);
          same.delete(key);
        },
        commit(listVersion, changes) {
          const order = compareResourceVersions(listVersion, resourceVersion);
          const isReset = order !== undefined && order < 0;
          if (isReset) tombstones.clear();
          for (const [key, object] of objects) {
            if (same.has(key) || differing.has(key)) continue;
            const isAhead = !isReset && isNewerResourceVersion(object.metadata.resourceVersion, listVersion);
            if (!isAhead) drop(key, changes);
          }
          for (const [key, object] of differing) {
            const cached = objects.get(key);
            // Own writes and deletions since the start of the list are newer than the list.
            if (isBuried(key, object.metadata)) continue;
            if (cached && !isReset && !isNewer(object.metadata.resourceVersion, cached)) continue;
            putKept(key, object, changes);
          }
          // The list was read after these deletions: it cannot hold their objects, nor can the watch from here.
          for (const [key, tombstone] of tombstones) {
            if (tombstone.since < begun) tombstones.delete(key);
          }
          resourceVersion = listVersion;
          lastKey = undefined;
          // A stream that began with this list may last for hours, and keeps it: its objects must not outlive their successors.
          differing.clear();
          same.clear();
        },
      };
    },

    sending(object) {
      const key = keyOfObject(object);
      sent.set(key, object);
      return () => {
        if (sent.get(key) === object) sent.delete(key);
      };
    },

    observeWrite(raw, isSelected, changes) {
      const key = keyOfObject(raw);
      const { uid, resourceVersion: version } = raw.metadata;
      const cached = objects.get(key);
      // Unless it is known whether the object is selected, it is unknown whether the watch will ever report this version.
      if (isSelected === undefined || isBuried(key, raw.metadata)) return;
      if (!cached) {
        if (isSelected && isUntold(version)) put(key, raw, changes);
        return;
      }
      if (!isNewerResourceVersion(version, cached.metadata.resourceVersion)) return;
      // If the written object has another uid, the cached one is gone, unless the watch has already reported a later state.
      if (cached.metadata.uid !== uid && !isUntold(version)) return;
      if (isSelected) return put(key, raw, changes);
      // It left the selection by this write, if not before: events up to here would only bring it back.
      drop(key, changes);
      bury(key, [], version, version);
    },

    observeDelete(ref, uid, version, changes) {
      const key = keyOf(ref);
      const cached = objects.get(key);
      const isCached = cached?.metadata.uid === uid;
      if (isCached) drop(key, changes);
      const order = compareResourceVersions(version, resourceVersion);
      if (order !== undefined && order <= 0) return;
      const lastVersion = version ?? (isCached ? cached?.metadata.resourceVersion : undefined);
      bury(key, [uid], lastVersion, version);
    },
  };
}

interface Tombstone {
  /** None for an object that only left the selection, and may come back with a later version. */
  uids: readonly string[];
  since: number;
  /** The highest version that the object is known to have had. */
  lastVersion: string | undefined;
  /** The version of the deletion, where the server reported it. */
  deletedAt: string | undefined;
}

// Long enough for the watch to bring a deletion of unknown version; after that its object was never selected.
const TOMBSTONE_MS = 600_000;

/** Reports whether a version is newer than the cached one. If versions cannot be compared, a different one that comes later is newer. */
function isNewer(version: string | undefined, cached: KubeObject): boolean {
  const order = compareResourceVersions(version, cached.metadata.resourceVersion);
  return order === undefined || order > 0;
}

function isSame(cached: KubeObject, raw: RawObject): boolean {
  return cached.metadata.resourceVersion === raw.metadata.resourceVersion && cached.metadata.uid === raw.metadata.uid;
}
