// Durable storage in one SQLite file a cluster. The file is a log: a row for every revision, with the revision that it
// replaced, as kine keeps it; the newest row of a key is its present state. Rows that were replaced, and removals, are
// forgotten once they are older than the past that watches may ask for; the revision counter never goes back, because the
// log remembers how far it was compacted.
//
// Changes of one turn of the event loop are committed together. The commit itself is synchronous: with a write-ahead log it
// costs one fsync (a quarter of a millisecond on an SSD), less than handing it to a thread and back, and nothing is
// answered meanwhile that could be lost.
import { reasonOf } from '@capstan/kube';
import { ClusterErrors } from '../errors.ts';
import type { Change, Storage } from '../store/storage.ts';
import { openDatabase } from './database.ts';
import { checksumOf, loadState } from './load-state.ts';

export interface SqliteStorageOptions {
  /** The file; it is made when it is not there, its folder is not. */
  path: string;
  /** How many revisions of the past are kept at least; default 10,000, as many as the server keeps in memory. */
  retain?: number;
  /** Calls back once the present turn of the event loop is over; default setImmediate. */
  defer?: (call: () => void) => void;
}

const DEFAULT_RETAIN = 10_000;
/** Of each commit's own size: more than one, so that compaction catches up, and small, so that no commit waits for it. */
const COMPACT_FACTOR = 2;
const COMPACT_STEP = 64;

/** Opens the file, or throws one of the ClusterErrors: locked, damaged, not ours, not writable. */
export function sqliteStorage(options: SqliteStorageOptions): Storage {
  const { path, retain = DEFAULT_RETAIN, defer = setImmediate } = options;
  const database = openDatabase(path);
  const insert = database.prepare(
    'INSERT INTO revisions (revision, resource, key, previous, value, checksum) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const forgetReplaced = database.prepare(
    'DELETE FROM revisions WHERE revision IN (SELECT previous FROM revisions WHERE revision > ? AND revision <= ?)',
  );
  const forgetRemovals = database.prepare(
    'DELETE FROM revisions WHERE revision > ? AND revision <= ? AND value IS NULL',
  );
  const remember = database.prepare("UPDATE state SET value = ? WHERE name = 'compacted'");

  let pending: Row[] = [];
  /** By the object. Their answers are written before the event loop turns again. */
  const texts = new Map<unknown, string>();
  let running: Promise<void> | undefined;
  let compacted = 0;
  let newest = 0;
  let wanted = 0;

  const compactTo = (until: number) => {
    forgetReplaced.run(compacted, until);
    forgetRemovals.run(compacted, until);
    remember.run(until);
    return until;
  };

  const commit = () => {
    running = undefined;
    const rows = pending;
    database.exec('BEGIN');
    let forgotten = compacted;
    try {
      for (const row of rows) insert.run(...row);
      const last = rows.at(-1)?.[0] ?? newest;
      const target = Math.max(wanted, last - retain);
      const step = wanted > compacted ? Number.POSITIVE_INFINITY : COMPACT_FACTOR * rows.length + COMPACT_STEP;
      if (target > compacted) forgotten = compactTo(Math.min(target, compacted + step));
      database.exec('COMMIT');
      newest = last;
      compacted = forgotten;
      // Only now: what could not be written is written at the next try.
      pending = pending.slice(rows.length);
      const written = [...texts.keys()];
      defer(() => {
        for (const object of written) texts.delete(object);
      });
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw ClusterErrors.NotKept(path, reasonOf(error));
    }
  };

  const flush = () => {
    if (pending.length === 0) return undefined;
    running ??= new Promise<void>((resolve, reject) => {
      defer(() => {
        try {
          resolve(commit());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
    return running;
  };

  return {
    load() {
      try {
        const state = loadState(database, path);
        compacted = state.compacted;
        newest = state.revision;
        return state;
      } catch (error) {
        database.close();
        throw error;
      }
    },
    append(change) {
      const row = rowOf(change);
      pending.push(row);
      if (row[VALUE] !== null) texts.set(change.object, row[VALUE]);
      // Also what nothing waits for; who does wait hears of a failure, and the next flush tries again.
      flush()?.catch(() => {});
    },
    flush,
    jsonOf: (object) => texts.get(object),
    compact(revision) {
      wanted = Math.max(wanted, revision);
    },
    async close() {
      if (!database.isOpen) return;
      try {
        await flush();
        if (wanted > compacted) commit();
      } finally {
        database.close();
      }
    },
  };
}

const VALUE = 4;

type Row = [
  revision: number,
  resource: string,
  key: string,
  previous: number | null,
  value: string | null,
  checksum: number,
];

function rowOf({ revision, resource, key, previous, object }: Change): Row {
  const value = object === undefined ? null : JSON.stringify(object);
  return [revision, resource, key, previous ?? null, value, checksumOf(revision, resource, key, value)];
}
