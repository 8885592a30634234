import type { CauseRecord } from './cause.ts';

/** What was written lately and why, in this process: a ring per object, and a bounded number of objects. */
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
const OBJECTS = 10_000;

export function createHistory(): History {
  const rings = new Map<string, HistoryEntry[]>();
  return {
    record(object, entry) {
      const ring = rings.get(object) ?? [];
      ring.unshift(entry);
      if (ring.length > ENTRIES) ring.pop();
      // Set again, so that the map is in the order of last use and the first one is the oldest.
      rings.delete(object);
      rings.set(object, ring);
      const oldest = rings.keys().next();
      if (rings.size > OBJECTS && !oldest.done) rings.delete(oldest.value);
    },
    of: (object) => rings.get(object) ?? [],
  };
}
