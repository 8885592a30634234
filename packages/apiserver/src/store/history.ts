import type { UnknownObject } from '@capstan/kube';
import { weightOf } from './weight.ts';

/** An event of one object, shared by all watchers. */
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
 * that dropping costs nothing per event, and in the same way at most `bytes`. Every event after `compacted` is here.
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
  /** Forgets the events after a revision, which have not happened after all. */
  cut(revision: number): void;
}

export interface HistoryLimits {
  events: number;
  bytes: number;
}

export function createHistory(limits: HistoryLimits, start: number): History {
  let events: StoreEvent[] = [];
  let compacted = start;
  let weight = 0;

  /** Forgets the first events. */
  const drop = (count: number) => {
    if (count <= 0) return;
    compacted = events[count - 1]?.revision ?? compacted;
    for (const { object } of events.slice(0, count)) weight -= weightOf(object);
    events = events.slice(count);
  };

  /** How many must go so that half of the bytes are left; the newest event stays whatever it weighs. */
  const surplus = () => {
    let left = weight;
    let count = 0;
    for (; left > limits.bytes / 2 && count < events.length - 1; count += 1) {
      const object = events[count]?.object;
      if (object) left -= weightOf(object);
    }
    return count;
  };

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
      weight += weightOf(event.object);
      if (events.length >= 2 * limits.events) drop(limits.events);
      if (weight > limits.bytes) drop(surplus());
    },
    indexAfter,
    at: (index) => events[index],
    cut(revision) {
      const lost = events.splice(indexAfter(revision));
      for (const { object } of lost) weight -= weightOf(object);
    },
    compact(revision) {
      if (revision <= compacted) return;
      drop(indexAfter(revision));
      compacted = revision;
    },
  };
}
