import type { UnknownObject } from '@capstan/kube';

/** What happened to one object, shared by everybody who watches. */
export interface StoreEvent {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  /** The new state; for a deletion the last state, under the revision of the deletion. */
  readonly object: UnknownObject;
  readonly previous: UnknownObject | undefined;
  readonly deleted: boolean;
}

/**
 * The recent past, oldest first. It holds between `limit` and twice `limit` events before the older half is dropped, so
 * that dropping costs nothing per event. Every event after `compacted` is here.
 */
export interface History {
  /** The highest revision whose event may be gone. */
  readonly compacted: number;
  add(event: StoreEvent): void;
  /** The index of the first event after a revision; for use with `at` and `length`. */
  indexAfter(revision: number): number;
  at(index: number): StoreEvent | undefined;
  readonly length: number;
  compact(revision: number): void;
}

export function createHistory(limit: number, start: number): History {
  let events: StoreEvent[] = [];
  let compacted = start;

  const indexAfter = (revision: number) => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    get compacted() {
      return compacted;
    },
    get length() {
      return events.length;
    },
    add(event) {
      events.push(event);
      if (events.length < 2 * limit) return;
      compacted = events[limit - 1]?.revision ?? compacted;
      events = events.slice(limit);
    },
    indexAfter,
    at: (index) => events[index],
    compact(revision) {
      if (revision <= compacted) return;
      events = events.slice(indexAfter(revision));
      compacted = revision;
    },
  };
}
