// The last revision that was acknowledged, in a file of its own beside the database. SQLite reads a write-ahead log up to the first frame that is
// damaged and takes that for its end: without another witness, acknowledged writes after it would be lost without a word.
//
// It is written after each commit and before its answers, without waiting for the disk, which it reaches within a tenth of a second. After kill -9 it is
// exact; after a loss of power it may be older than the database, never newer. Where it cannot be written, it stays older until it can:
// the writes themselves are on the disk, so they are acknowledged all the same.
import { closeSync, constants, fdatasync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

export interface LastRevision {
  /** Undefined: unknown, as in a folder of an older version. */
  readonly last: KeptRevision | undefined;
  /** Everything up to the revision is kept. Never throws: a failure is tried again, and costs the protection of the newest writes alone. */
  keep(revision: number): void;
  /**
   * Writes after `kept`, up to `until`, were refused: should they be found in the database after all, they do not count. Never throws;
   * a failure is tried again.
   */
  refuse(kept: number, until: number): void;
  close(): void;
}

export interface KeptRevision {
  readonly kept: number;
  /** Revisions after `kept` up to this one were refused; equal to `kept` where there are none. */
  readonly refusedUntil: number;
}

export const lastRevisionFile = (path: string) => `${path}.revision`;

/** One block, so that it is written whole or not at all. */
const LENGTH = 64;
const SYNC_MS = 100;

export function openLastRevision(path: string): LastRevision {
  const file = openSync(lastRevisionFile(path), constants.O_RDWR | constants.O_CREAT, 0o600);
  const last = parse(file);
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  /** The revision that the file should have, while it does not. */
  let owed: KeptRevision | undefined;

  const write = (kept: number, refusedUntil: number): void => {
    const text = `${kept} ${refusedUntil}`;
    owed = { kept, refusedUntil };
    try {
      writeSync(file, `${text} ${crc32(text)}`.padEnd(LENGTH - 1).concat('\n'), 0);
      if (refusedUntil > kept) fdatasyncSync(file);
      owed = undefined;
    } catch {
      // The timer tries again.
    }
    timer ??= setTimeout(finish, SYNC_MS).unref();
  };

  const finish = (): void => {
    timer = undefined;
    if (!isOpen) return;
    if (owed) write(owed.kept, owed.refusedUntil);
    // A failure costs nothing now: the next one may succeed.
    else fdatasync(file, () => {});
  };

  return {
    last,
    keep: (revision) => write(revision, revision),
    refuse: write,
    close() {
      if (!isOpen) return;
      isOpen = false;
      clearTimeout(timer);
      if (owed) write(owed.kept, owed.refusedUntil);
      clearTimeout(timer);
      closeSync(file);
    },
  };
}

function parse(file: number): KeptRevision | undefined {
  const bytes = Buffer.alloc(LENGTH);
  const length = readSync(file, bytes, 0, LENGTH, 0);
  const [, kept, refusedUntil, sum] = /^(\d+) (\d+) (\d+) *\n$/.exec(bytes.toString('latin1', 0, length)) ?? [];
  if (kept === undefined || refusedUntil === undefined || sum === undefined) return undefined;
  if (crc32(`${kept} ${refusedUntil}`) !== Number(sum)) return undefined;
  return { kept: Number(kept), refusedUntil: Number(refusedUntil) };
}
