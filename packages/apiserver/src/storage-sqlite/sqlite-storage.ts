// Durable storage in one SQLite file a cluster. The file is a log: a row for every revision, with the revision that it
// replaced, as kine keeps it; the newest row of a key is its present state. Rows that were replaced, and removals, are
// forgotten once they are older than the past that watches may ask for; the revision counter never goes back, because the
// log remembers how far it was compacted.
//
// Changes of one turn of the event loop are committed together, in rounds. The transaction runs on the main thread, without waiting for the
// disk; a thread of libuv then syncs the log, and the next round collects its changes meanwhile. Nothing is answered that could be
// lost: a round is durable when its sync has ended, and one sync runs at a time.
import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
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
  /** Brings a written file to the disk; default fdatasync. */
  sync?: (file: number, done: (error: Error | null) => void) => void;
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
  const { path, retain = DEFAULT_RETAIN, defer = setImmediate, sync = fdatasync } = options;
  const database = openDatabase(path);
  if (options.maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${options.maxPages}`);
  const lastRevision = openLastRevision(path);
  const log = openLog(database, path);
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

  const forgetRefused = database.prepare('DELETE FROM revisions WHERE revision > ? AND revision <= ?');

  /** The round that collects changes. */
  let open: Round | undefined;
  /** The round whose log is being synced. */
  let syncing: Round | undefined;
  /** By the object. Their answers are written before the event loop turns again. */
  const texts = new Map<unknown, string>();
  let compacted = 0;
  let newest = 0;
  let wanted = 0;
  /** Rows that were refused after they had reached the log, until they are deleted. */
  let refused: { readonly after: number; readonly until: number } | undefined;
  let lose: (kept: number) => void = () => {};

  const compactTo = (until: number) => {
    forgetReplaced.run(compacted, until);
    forgetRemovals.run(compacted, until);
    remember.run(until);
    return until;
  };

  /** Writes rows to the log, and forgets old rows that durable ones have replaced. */
  const write = (rows: readonly Row[]) => {
    let forgotten = compacted;
    try {
      database.exec('BEGIN');
      if (refused) forgetRefused.run(refused.after, refused.until);
      for (const row of rows) insert.run(...row);
      const last = rows.at(-1)?.[0] ?? newest;
      const target = Math.min(newest, Math.max(wanted, last - retain));
      const step = wanted > compacted ? Number.POSITIVE_INFINITY : COMPACT_FACTOR * rows.length + COMPACT_STEP;
      if (target > compacted) forgotten = compactTo(Math.min(target, compacted + step));
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw ClusterErrors.NotKept(path, reasonOf(error));
    }
    refused = undefined;
    compacted = forgotten;
  };

  const startRound = (): Round => {
    let settle: Pick<Round, 'resolve' | 'reject'> | undefined;
    const done = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // Write also changes that no request waits for; a waiting request gets the failure as its answer.
    done.catch(() => {});
    return { rows: [], objects: [], done, resolve: () => settle?.resolve(), reject: (error) => settle?.reject(error) };
  };

  const begin = () => defer(commit);

  const commit = () => {
    const round = open;
    // A failure of the round before has refused this one too.
    if (!round) return;
    open = undefined;
    try {
      write(round.rows);
    } catch (error) {
      refuse([round], error);
      return;
    }
    if (log === undefined) {
      keep(round);
      return;
    }
    syncing = round;
    sync(log, (error) => {
      syncing = undefined;
      if (error) {
        const lost = open ? [round, open] : [round];
        open = undefined;
        refuseWritten(lost, error);
        return;
      }
      keep(round);
      if (open) begin();
    });
  };

  const keep = ({ rows, objects, resolve }: Round) => {
    newest = rows.at(-1)?.[0] ?? newest;
    lastRevision.keep(newest);
    defer(() => {
      for (const object of objects) texts.delete(object);
    });
    resolve();
  };

  /** A write that is answered with an error must not take effect later: not by another try, and not by a log that has it after all. */
  const refuse = (rounds: readonly Round[], error: unknown) => {
    for (const { objects } of rounds) for (const object of objects) texts.delete(object);
    const until = rounds.at(-1)?.rows.at(-1)?.[0] ?? newest;
    lose(newest);
    lastRevision.refuse(newest, until);
    for (const { reject } of rounds) reject(error);
  };

  /** Refuses rounds of which the first is in the log. The system may have dropped its pages, so the log is written to the file and begun again. */
  const refuseWritten = (rounds: readonly Round[], error: Error) => {
    const until = rounds.at(-1)?.rows.at(-1)?.[0] ?? newest;
    refused = { after: newest, until };
    refuse(rounds, ClusterErrors.NotKept(path, reasonOf(error)));
    try {
      write([]);
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The next round tries again; until then the witness voids the rows.
    }
  };

  /** Undefined: everything is durable. */
  const flush = () => (open ?? syncing)?.done;

  return {
    load() {
      try {
        const state = loadState(database, path, lastRevision.last);
        // From here on each round syncs the log. SQLite still syncs it before a checkpoint, and the file after it.
        if (log !== undefined) database.exec('PRAGMA synchronous = NORMAL');
        compacted = state.compacted;
        newest = state.revision;
        lastRevision.keep(newest);
        return state;
      } catch (error) {
        lastRevision.close();
        if (log !== undefined) closeSync(log);
        closeUnchanged(database, path);
        throw error;
      }
    },
    append(change) {
      const row = rowOf(change);
      const isFirst = open === undefined;
      const round = (open ??= startRound());
      round.rows.push(row);
      if (row[VALUE] !== null) {
        round.objects.push(change.object);
        texts.set(change.object, row[VALUE]);
      }
      // During a sync, the round begins when that has ended.
      if (isFirst && !syncing) begin();
    },
    flush,
    get kept() {
      return newest;
    },
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
        while (open ?? syncing) await flush();
        if (wanted > compacted) write([]);
      } finally {
        database.close();
        if (log !== undefined) closeSync(log);
        lastRevision.close();
      }
    },
  };
}

/** Opens the log of the file, which is then synced here. Undefined where the file system does not allow one: SQLite syncs each commit there. */
function openLog(database: DatabaseSync, path: string): number | undefined {
  if (database.prepare('PRAGMA journal_mode').get()?.['journal_mode'] !== 'wal') return undefined;
  return openSync(`${path}-wal`, 'r+');
}

/** The changes that are made durable together. */
interface Round {
  readonly rows: Row[];
  readonly objects: unknown[];
  readonly done: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
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
