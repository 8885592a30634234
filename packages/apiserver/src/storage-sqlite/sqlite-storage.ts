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
import { jsonText } from '../store/object-parts.ts';
import type { Change, Storage } from '../store/storage.ts';
import { closeUnchanged, openDatabase } from './database.ts';
import { openLastRevision } from './last-revision.ts';
import { checksumOf, loadState } from './load-state.ts';

export interface SqliteStorageOptions {
  /** The file; it is made when it is not there, its folder is not. */
  path: string;
  /** How many revisions of the past are kept at least; default 10,000, as many as the server keeps in memory. */
  retain?: number;
  /** Calls back once the present turn of the event loop is over; default setImmediate. */
  defer?: (call: () => void) => void;
  /** The largest size of the file, in pages of 8 KiB; default as large as the disk. */
  maxPages?: number;
}

const DEFAULT_RETAIN = 10_000;
/**
 * The number of compacted entries in proportion to each commit: more than one, so that compaction catches up, and small, so that no commit
 * waits for it.
 */
const COMPACT_FACTOR = 2;
const COMPACT_STEP = 64;

/** Opens the file, or throws one of the ClusterErrors: locked, damaged, not ours, not writable. */
export function sqliteStorage(options: SqliteStorageOptions): Storage {
  const { path, retain = DEFAULT_RETAIN, defer = setImmediate } = options;
  const database = openDatabase(path);
  if (options.maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${options.maxPages}`);
  const lastRevision = openLastRevision(path);
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
  let lose: (kept: number) => void = () => {};

  const compactTo = (until: number) => {
    forgetReplaced.run(compacted, until);
    forgetRemovals.run(compacted, until);
    remember.run(until);
    return until;
  };

  const commit = () => {
    running = undefined;
    const rows = pending;
    let forgotten = compacted;
    try {
      database.exec('BEGIN');
      for (const row of rows) insert.run(...row);
      const last = rows.at(-1)?.[0] ?? newest;
      const target = Math.max(wanted, last - retain);
      const step = wanted > compacted ? Number.POSITIVE_INFINITY : COMPACT_FACTOR * rows.length + COMPACT_STEP;
      if (target > compacted) forgotten = compactTo(Math.min(target, compacted + step));
      database.exec('COMMIT');
      newest = last;
      compacted = forgotten;
      pending = [];
      lastRevision.keep(newest);
      const written = [...texts.keys()];
      defer(() => {
        for (const object of written) texts.delete(object);
      });
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      refuse(rows);
      throw ClusterErrors.NotKept(path, reasonOf(error));
    }
  };

  /** A write that is answered with an error must not take effect later: not by another try, and not by a log that has it after all. */
  const refuse = (rows: readonly Row[]) => {
    pending = [];
    texts.clear();
    const until = rows.at(-1)?.[0];
    if (until === undefined) return;
    lose(newest);
    lastRevision.refuse(newest, until);
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
        const state = loadState(database, path, lastRevision.last);
        compacted = state.compacted;
        newest = state.revision;
        lastRevision.keep(newest);
        return state;
      } catch (error) {
        lastRevision.close();
        closeUnchanged(database, path);
        throw error;
      }
    },
    append(change) {
      const row = rowOf(change);
      pending.push(row);
      if (row[VALUE] !== null) texts.set(change.object, row[VALUE]);
      // Write also changes that no request waits for; a waiting request gets the failure as its answer.
      flush()?.catch(() => {});
    },
    flush,
    onLoss(call) {
      lose = call;
    },
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
        lastRevision.close();
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
  const value = object === undefined ? null : jsonText(object);
  return [revision, resource, key, previous ?? null, value, checksumOf(revision, resource, key, value)];
}
