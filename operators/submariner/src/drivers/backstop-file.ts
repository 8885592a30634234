// Stores the networks of the backstop on disk, by holder: names of clusters and networks, no secrets. The file is replaced as a whole and
// flushed to the disk, so that a crash of the machine leaves the old or the new list.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '@capstan/kube';
import { canonicalCidr, isCidr } from './addresses.ts';

export interface BackstopFile {
  /** Returns the stored networks. The map is empty if the file is missing or unreadable. */
  read(): Map<string, readonly string[]>;
  write(holders: ReadonlyMap<string, readonly string[]>): void;
  remove(): void;
}

const NAME = 'backstop.json';
const VERSION = 1;

export function createBackstopFile(folder: string): BackstopFile {
  const path = join(folder, NAME);
  let written: string | undefined;
  return {
    read() {
      try {
        return parse(readFileSync(path, 'utf8'));
      } catch {
        return new Map();
      }
    },
    write(holders) {
      const entries = [...holders].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const text = `${JSON.stringify({ version: VERSION, closed: Object.fromEntries(entries) })}\n`;
      if (text === written) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const next = `${path}.next`;
      const file = openSync(next, 'w', 0o600);
      try {
        writeSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(next, path);
      syncFolder(folder);
      written = text;
    },
    remove() {
      written = undefined;
      rmSync(path, { force: true });
    },
  };
}

function parse(text: string): Map<string, readonly string[]> {
  const { version, closed } = JSON.parse(text) as { version?: unknown; closed?: unknown };
  if (version !== VERSION || !isJsonObject(closed)) return new Map();
  return new Map(
    Object.entries(closed).map(([holder, networks]) => [
      holder,
      Array.isArray(networks)
        ? networks.filter((each): each is string => typeof each === 'string' && isCidr(each)).map(canonicalCidr)
        : [],
    ]),
  );
}

/** Flushes a folder, since a rename is on the disk only once its folder is. */
function syncFolder(folder: string): void {
  const file = openSync(folder, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
