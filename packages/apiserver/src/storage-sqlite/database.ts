// One process at a time: the file is opened with SQLite's exclusive lock, which the system releases when the process ends, however it ends.
// A file that is damaged or not ours is left exactly as it is.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CodedError, reasonOf } from '@capstan/kube';
import { ClusterErrors } from '../errors.ts';

/** 'Caps': distinguishes our files from those of other programs. */
const APPLICATION_ID = 0x43617073;

/** Each entry brings a file to the next schema version; the first makes an empty one. Entries are only ever added. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE revisions (
     revision INTEGER PRIMARY KEY,
     resource TEXT NOT NULL,
     key TEXT NOT NULL,
     previous INTEGER,
     value TEXT,
     checksum INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   INSERT INTO state VALUES ('compacted', 1);`,
];

/** Opens (or makes) a cluster's file in its present schema, locked for this process. `shown` is its name in messages. */
export function openDatabase(path: string, migrations: readonly string[] = MIGRATIONS, shown = path): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    // The mode before the first access, or the lock would be shared; with it, the log needs no shared memory either.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;');
    const isNew = numberOf(database, 'PRAGMA schema_version') === 0;
    if (!isNew && numberOf(database, 'PRAGMA application_id') !== APPLICATION_ID) throw ClusterErrors.NotOurs(path);
    const version = numberOf(database, 'PRAGMA user_version');
    if (version > migrations.length) throw ClusterErrors.TooNew(path, version, migrations.length);
    if (!isNew) checkIntegrity(database, path);
    // Most objects take more than half of SQLite's own 4 KiB: with two or three on a page, a write takes a quarter less time.
    if (isNew) database.exec('PRAGMA page_size = 8192');
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;');
    migrate(database, version, migrations);
    writeFileSync(pidFile(path), `${process.pid}\n`);
    return database;
  } catch (error) {
    if (database?.isOpen === true) closeUnchanged(database, path);
    throw explained(error, path, shown);
  }
}

/**
 * Closes a file that is damaged and leaves it and its log as they are. SQLite would copy the readable part of the log into the file and
 * remove the log; it does not where the file has another name than when it was opened.
 */
export function closeUnchanged(database: DatabaseSync, path: string): void {
  const hidden = `${path}.closing`;
  const isLogged = existsSync(`${path}-wal`);
  if (isLogged) renameSync(path, hidden);
  try {
    database.close();
  } finally {
    if (isLogged) renameSync(hidden, path);
  }
}

/** Locks a folder for this process alone. Closing the result, or the end of the process, releases it. */
export function lockFolder(folder: string): { close(): Promise<void> } {
  const database = openDatabase(join(folder, 'lock'), ['CREATE TABLE lock (note TEXT) STRICT'], folder);
  return {
    async close() {
      database.close();
    },
  };
}

function migrate(database: DatabaseSync, from: number, migrations: readonly string[]): void {
  // Run it even without migrations: this takes the exclusive lock.
  database.exec('BEGIN EXCLUSIVE');
  for (const migration of migrations.slice(from)) database.exec(migration);
  if (from < migrations.length) {
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length};`);
  }
  database.exec('COMMIT');
}

function checkIntegrity(database: DatabaseSync, path: string): void {
  const row = database.prepare('PRAGMA quick_check(1)').get();
  const said = String(row?.['quick_check'] ?? 'no answer');
  if (said !== 'ok') throw ClusterErrors.Corrupt(path, said.replace(/\s+/g, ' '));
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(Object.values(database.prepare(pragma).get() ?? {})[0] ?? 0);
}

const pidFile = (path: string) => `${path}.pid`;

/** SQLite's primary result codes that have a sentence of their own. */
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

function explained(error: unknown, path: string, shown: string): Error {
  if (error instanceof CodedError) return error;
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  if (code === BUSY || code === LOCKED) return ClusterErrors.Locked(shown, ownerOf(path));
  if (code === CORRUPT || code === NOT_A_DATABASE) return ClusterErrors.Corrupt(path, reasonOf(error));
  return ClusterErrors.NotWritable(shown, reasonOf(error));
}

function ownerOf(path: string): string | undefined {
  if (!existsSync(pidFile(path))) return undefined;
  const text = readFileSync(pidFile(path), 'utf8').trim();
  return /^\d+$/.test(text) ? text : undefined;
}
