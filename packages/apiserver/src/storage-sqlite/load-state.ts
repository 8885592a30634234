import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { CodedError, reasonOf, type UnknownObject } from '@capstan/kube';
import { ClusterErrors } from '../errors.ts';
import type { StoreEvent } from '../store/history.ts';
import type { StoredState } from '../store/storage.ts';
import { type KeptRevision, lastRevisionFile } from './last-revision.ts';

export interface LoadedState extends StoredState {
  compacted: number;
  events: readonly StoreEvent[];
}

/**
 * Replays the log: the present state of every key, and the past that has not been forgotten yet. Throws when it ends before the last
 * revision that was acknowledged.
 */
export function loadState(database: DatabaseSync, path: string, last?: KeptRevision): LoadedState {
  try {
    if (last && last.refusedUntil > last.kept) {
      database.prepare('DELETE FROM revisions WHERE revision > ? AND revision <= ?').run(last.kept, last.refusedUntil);
    }
    const compacted = compactedOf(database);
    const current = new Map<string, KeptObject>();
    const events: StoreEvent[] = [];
    let revision = compacted;
    const rows = database.prepare('SELECT * FROM revisions ORDER BY revision');
    for (const raw of rows.iterate()) {
      const row = raw as unknown as RevisionRow;
      if (row.checksum !== checksumOf(row.revision, row.resource, row.key, row.value)) {
        throw ClusterErrors.Corrupt(path, `revision ${row.revision} does not match its checksum`);
      }
      const id = `${row.resource} ${row.key}`;
      const before = current.get(id)?.object;
      if (
        row.previous !== null &&
        row.previous > compacted &&
        Number(before?.metadata.resourceVersion) !== row.previous
      ) {
        throw ClusterErrors.Corrupt(
          path,
          `revision ${row.previous}, which revision ${row.revision} replaces, is missing`,
        );
      }
      const object = row.value === null ? undefined : (JSON.parse(row.value) as UnknownObject);
      if (object) current.set(id, { resource: row.resource, key: row.key, object });
      else current.delete(id);
      revision = Math.max(revision, row.revision);
      if (row.revision > compacted) events.push(...eventOf(row, object, before));
    }
    if (last && revision < last.kept) throw ClusterErrors.LostWrites(path, last.kept, revision, lastRevisionFile(path));
    // Numbers of refused writes are not used again.
    revision = Math.max(revision, last?.refusedUntil ?? 0);
    return { revision, compacted, objects: current.values(), events };
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw ClusterErrors.Corrupt(path, reasonOf(error));
  }
}

/** SQLite notices damage to its own structures; this notices damage inside a row. */
export function checksumOf(revision: number, resource: string, key: string, value: string | null): number {
  return crc32(value ?? '-', crc32(`${revision} ${resource} ${key} `));
}

interface KeptObject {
  resource: string;
  key: string;
  object: UnknownObject;
}

interface RevisionRow {
  revision: number;
  resource: string;
  key: string;
  previous: number | null;
  value: string | null;
  checksum: number;
}

/** A removal shows the last state under its own revision, as the store does; a removal of nothing is no event. */
function eventOf(
  { revision, resource, key }: RevisionRow,
  object: UnknownObject | undefined,
  previous: UnknownObject | undefined,
): StoreEvent[] {
  if (object) return [{ revision, resource, key, object, previous, deleted: false }];
  if (!previous) return [];
  const last = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } };
  return [{ revision, resource, key, object: last, previous, deleted: true }];
}

function compactedOf(database: DatabaseSync): number {
  const row = database.prepare("SELECT value FROM state WHERE name = 'compacted'").get();
  return Number(row?.['value'] ?? 1);
}
