import type { CauseRecord } from './cause.ts';

/** The latest writes of this process with their causes: a ring for each object, and a bounded size of all rings together. */
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
  // A line of text for each entry, newest first: a fifth of the size of the same records as objects. There are many, and hardly any is ever
  // read.
  const rings = new Map<string, string>();
  let size = 0;

  function forget(object: string, ring: string): void {
    rings.delete(object);
    size -= object.length + ring.length;
  }

  return {
    record(object, entry) {
      const before = rings.get(object);
      if (before !== undefined) forget(object, before);
      const ring = [JSON.stringify(entry), ...linesOf(before).slice(0, ENTRIES - 1)].join('\n');
      // Set again, so that the map is in the order of last use and the first one is the oldest.
      rings.set(object, ring);
      size += object.length + ring.length;
      for (const [oldest, entries] of rings) {
        if (size <= CHARACTERS || oldest === object) break;
        forget(oldest, entries);
      }
    },
    of: (object) => linesOf(rings.get(object)).map((text) => JSON.parse(text) as HistoryEntry),
  };
}

/** JSON has no line breaks of its own. */
function linesOf(ring: string | undefined): string[] {
  return ring === undefined ? [] : ring.split('\n');
}
