// The heart: every object of the cluster in memory, one revision for all of them, and the recent past. Everything here is
// synchronous, so a read followed by a write without an await between them is a transaction. Clients in this process get the
// stored objects themselves, so these are frozen.
import { freezeDeep, type UnknownObject } from '@capstan/kube';
import { ApiServerErrors, expired, LIST_TOO_OLD, tooLargeResourceVersion } from '../errors.ts';
import type { Steps } from '../steps.ts';
import { createHistory, type History, type StoreEvent } from './history.ts';
import { prepareParts } from './object-parts.ts';
import type { Storage } from './storage.ts';
import { compareKeys, createTable, type Table } from './table.ts';

export interface Store {
  /** The revision of the newest write; it only grows. */
  readonly revision: number;
  readonly history: History;
  get(resource: string, key: string): UnknownObject | undefined;
  /** Does in steps the work that storing a large object takes; the object is frozen then. Throws where it is too large. */
  prepare(object: UnknownObject): Steps<void>;
  /** Stores the object under the next revision, which it gets as resourceVersion. Returns the stored object. */
  put(resource: string, key: string, object: UnknownObject): UnknownObject;
  /** Removes the object; returns its last state under the revision of the removal. */
  remove(resource: string, key: string): UnknownObject | undefined;
  /** Objects in key order, now. */
  list(resource: string, prefix: string): KeyedObject[];
  /** Objects in key order as they were at a revision; throws Expired when the past is not known any more. */
  listAt(resource: string, prefix: string, revision: number): KeyedObject[];
  count(resource: string): number;
  /** Calls back at every write of the resource (of every resource for `undefined`), in order, until it is unsubscribed. */
  subscribe(resource: string | undefined, listener: (event: StoreEvent) => void): () => void;
  /** Calls back when writes could not be made durable, just before they are taken back. */
  onLoss(call: () => void): void;
  /** Forgets the past up to and including a revision. */
  compact(revision: number): void;
}

export interface KeyedObject {
  key: string;
  object: UnknownObject;
}

export interface StoreOptions {
  storage: Storage;
  historyLimit: number;
  /** The approximate limit of the history; default 32 MiB. */
  historyBytes?: number;
}

const HISTORY_BYTES = 32 * 1024 * 1024;
const MIN_CROWD = 256;

export function createStore(options: StoreOptions): Store {
  const { storage, historyLimit, historyBytes = HISTORY_BYTES } = options;
  const tables = new Map<string, Table>();
  const listeners = new Map<string | undefined, Set<(event: StoreEvent) => void>>();
  const loaded = storage.load();
  let revision = loaded.revision;
  const history = createHistory({ events: historyLimit, bytes: historyBytes }, loaded.compacted ?? revision);
  for (const event of loaded.events ?? []) {
    freezeDeep(event.object);
    freezeDeep(event.previous);
    history.add(event);
  }

  const tableOf = (resource: string) => {
    let table = tables.get(resource);
    if (!table) {
      table = createTable();
      tables.set(resource, table);
    }
    return table;
  };
  for (const { resource, key, object } of loaded.objects) tableOf(resource).set(key, freezeDeep(object));

  /** Those that may not be durable. */
  let unkept: StoreEvent[] = [];
  let crowd = MIN_CROWD;
  const forgetKept = () => {
    if (storage.flush() === undefined) unkept = [];
    else if (unkept.length >= crowd) {
      // While writes never cease, there is no moment at which all are durable.
      const { kept = 0 } = storage;
      unkept = unkept.filter((event) => event.revision > kept);
      crowd = Math.max(MIN_CROWD, 2 * unkept.length);
    }
  };
  let warn = () => {};

  const notify = (event: StoreEvent) => {
    for (const listener of listeners.get(event.resource) ?? []) listener(event);
    for (const listener of listeners.get(undefined) ?? []) listener(event);
  };

  /** Takes back the writes after a revision, the last one first. Their revisions are not used again. */
  const revert = (kept: number) => {
    warn();
    const lost = unkept.filter((event) => event.revision > kept).reverse();
    unkept = [];
    history.cut(kept);
    for (const { revision: at, resource, key, object, previous, deleted } of lost) {
      if (previous) tableOf(resource).set(key, previous);
      else tableOf(resource).delete(key);
      const before = deleted ? undefined : object;
      notify({ revision: at, resource, key, object: previous ?? object, previous: before, deleted: !previous });
    }
  };
  storage.onLoss?.(revert);

  const publish = (event: StoreEvent) => {
    const { compacted } = history;
    history.add(event);
    unkept.push(event);
    // Large objects: an event that is not in memory any more need not be on the disk either. A storage counts events itself.
    const isByBytes = history.compacted > compacted && history.length < historyLimit;
    if (isByBytes) storage.compact?.(history.compacted);
    notify(event);
  };

  const stamp = (object: UnknownObject): UnknownObject => {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    return freezeDeep(stored);
  };

  return {
    get revision() {
      return revision;
    },
    history,
    get: (resource, key) => tables.get(resource)?.get(key),
    prepare: (object) => prepareParts(object, storage.jsonOf !== undefined),
    put(resource, key, object) {
      const table = tableOf(resource);
      const previous = table.get(key);
      forgetKept();
      revision += 1;
      const stored = stamp(object);
      table.set(key, stored);
      storage.append({ revision, resource, key, object: stored, ...replaced(previous) });
      publish({ revision, resource, key, object: stored, previous, deleted: false });
      return stored;
    },
    remove(resource, key) {
      const table = tableOf(resource);
      const previous = table.get(key);
      if (!previous) return undefined;
      forgetKept();
      revision += 1;
      const last = stamp(previous);
      table.delete(key);
      storage.append({ revision, resource, key, object: undefined, ...replaced(previous) });
      publish({ revision, resource, key, object: last, previous, deleted: true });
      return last;
    },
    list(resource, prefix) {
      const table = tables.get(resource);
      if (!table) return [];
      return table.keys(prefix).map((key) => ({ key, object: table.get(key) as UnknownObject }));
    },
    listAt(resource, prefix, at) {
      if (at > revision) throw tooLargeResourceVersion(at, revision);
      if (at < history.compacted) throw expired(LIST_TOO_OLD);
      const table = tableOf(resource);
      const earlier = changesSince(history, resource, prefix, at);
      const result: KeyedObject[] = [];
      for (const key of keysThen(table.keys(prefix), earlier)) {
        const object = earlier.has(key) ? earlier.get(key) : table.get(key);
        if (object) result.push({ key, object });
      }
      return result;
    },
    count: (resource) => tables.get(resource)?.size ?? 0,
    subscribe(resource, listener) {
      const set = listeners.get(resource) ?? new Set();
      listeners.set(resource, set);
      set.add(listener);
      return () => set.delete(listener);
    },
    onLoss(call) {
      warn = call;
    },
    compact(to) {
      if (to > revision) throw ApiServerErrors.future(to, revision);
      history.compact(to);
      storage.compact?.(to);
    },
  };
}

const replaced = (object: UnknownObject | undefined): { previous?: number } =>
  object ? { previous: Number(object.metadata.resourceVersion) } : {};

/** Returns the object at a revision for each key that has changed since. */
function changesSince(history: History, resource: string, prefix: string, revision: number) {
  const before = new Map<string, UnknownObject | undefined>();
  for (let index = history.length - 1, first = history.indexAfter(revision); index >= first; index -= 1) {
    const event = history.at(index);
    if (event?.resource === resource && event.key.startsWith(prefix)) before.set(event.key, event.previous);
  }
  return before;
}

function keysThen(now: readonly string[], earlier: ReadonlyMap<string, UnknownObject | undefined>): readonly string[] {
  if (earlier.size === 0) return now;
  const present = new Set(now);
  const gone = [...earlier.keys()].filter((key) => !present.has(key));
  return gone.length === 0 ? now : [...now, ...gone].sort(compareKeys);
}
