import { createHeap, type HeapItem } from './heap.ts';

/** An entry of a level: a link of a doubly linked list, so that leaving from the middle is O(1) and leaves nothing behind. */
export interface Link<T> {
  priority: number;
  previous: T | undefined;
  next: T | undefined;
}

/** First in, first out within a priority, higher priorities first. */
export interface ReadyLevels<T extends Link<T>> {
  readonly size: number;
  /** Adds at the end of the level that `link.priority` names. */
  append(link: T): void;
  /** Takes a link out of its level; it must be in one. */
  remove(link: T): void;
  /** Takes the first link of the highest level. */
  shift(): T | undefined;
  /** How many links wait in each level that is not empty. */
  depths(): Map<number, number>;
}

interface Level<T> extends HeapItem {
  readonly priority: number;
  first: T | undefined;
  last: T | undefined;
  size: number;
}

export function createReadyLevels<T extends Link<T>>(): ReadyLevels<T> {
  const levels = new Map<number, Level<T>>();
  // Empty levels stay until they come to the top, so that a level in use is not created again for every key.
  const order = createHeap<Level<T>>((a, b) => a.priority > b.priority);
  let size = 0;

  function levelOf(priority: number): Level<T> {
    let level = levels.get(priority);
    if (level === undefined) {
      level = { priority, first: undefined, last: undefined, size: 0, slot: -1 };
      levels.set(priority, level);
      order.push(level);
    }
    return level;
  }

  function remove(link: T): void {
    const level = levelOf(link.priority);
    if (link.previous === undefined) level.first = link.next;
    else link.previous.next = link.next;
    if (link.next === undefined) level.last = link.previous;
    else link.next.previous = link.previous;
    link.previous = undefined;
    link.next = undefined;
    level.size -= 1;
    size -= 1;
  }

  return {
    get size() {
      return size;
    },
    append(link) {
      const level = levelOf(link.priority);
      link.previous = level.last;
      if (level.last === undefined) level.first = link;
      else level.last.next = link;
      level.last = link;
      level.size += 1;
      size += 1;
    },
    remove,
    shift() {
      if (size === 0) return undefined;
      for (;;) {
        const level = order.peek()!;
        const first = level.first;
        if (first !== undefined) {
          remove(first);
          return first;
        }
        order.pop();
        levels.delete(level.priority);
      }
    },
    depths() {
      const depths = new Map<number, number>();
      for (const level of levels.values()) if (level.size > 0) depths.set(level.priority, level.size);
      return depths;
    },
  };
}
