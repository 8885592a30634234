import type { CauseRecord } from './cause.ts';

/** What was written lately and why, in this process: a ring for each object, and a bounded size of all rings together. */
export interface History {
  record(object: string, entry: HistoryEntry): void;
  /** Newest first. */
  of(object: string): readonly HistoryEntry[];
}

export interface HistoryEntry {
  readonly verb: string;
  readonly cause: CauseRecord;
}

const ENTRIES = 10;
/** About 15,000 entries; of the objects that were not written for longest, nothing is kept beyond this. */
const CHARACTERS = 4 * 1024 * 1024;

export function createHistory(): History {
  // As text, a fifth of what the same records take as objects: there are many, and hardly any is ever read.
  const rings = new Map<string, readonly string[]>();
  let size = 0;

  function forget(object: string, ring: readonly string[]): void {
    rings.delete(object);
    size -= sizeOf(object, ring);
  }

  return {
    record(object, entry) {
      const before = rings.get(object) ?? [];
      if (before.length > 0) forget(object, before);
      const ring = [JSON.stringify(entry), ...before.slice(0, ENTRIES - 1)];
      // Set again, so that the map is in the order of last use and the first one is the oldest.
      rings.set(object, ring);
      size += sizeOf(object, ring);
      for (const [oldest, entries] of rings) {
        if (size <= CHARACTERS || oldest === object) break;
        forget(oldest, entries);
      }
    },
    of: (object) => (rings.get(object) ?? []).map((text) => JSON.parse(text) as HistoryEntry),
  };
}

function sizeOf(object: string, ring: readonly string[]): number {
  return ring.reduce((sum, { length }) => sum + length, object.length);
}
