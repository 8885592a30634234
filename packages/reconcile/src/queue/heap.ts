/** An item that knows its place in the heap, so that it can be moved or taken out from the middle. */
export interface HeapItem {
  /** Its index in the heap; -1 when it is in none. Kept by the heap alone. */
  slot: number;
}

/** A binary heap; an item may be in at most one heap at a time. Every operation is O(log n) or better. */
export interface Heap<T extends HeapItem> {
  readonly size: number;
  /** The smallest item. */
  peek(): T | undefined;
  push(item: T): void;
  pop(): T | undefined;
  remove(item: T): void;
  clear(): void;
}

/** A heap whose smallest item, by `before`, comes first. */
export function createHeap<T extends HeapItem>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  function place(item: T, slot: number): void {
    items[slot] = item;
    item.slot = slot;
  }

  function rise(item: T, from: number): void {
    let slot = from;
    while (slot > 0) {
      const parentSlot = (slot - 1) >> 1;
      const parent = items[parentSlot]!;
      if (!before(item, parent)) break;
      place(parent, slot);
      slot = parentSlot;
    }
    place(item, slot);
  }

  function sink(item: T, from: number): void {
    const size = items.length;
    let slot = from;
    for (;;) {
      let childSlot = 2 * slot + 1;
      if (childSlot >= size) break;
      let child = items[childSlot]!;
      const right = items[childSlot + 1];
      if (right !== undefined && before(right, child)) {
        child = right;
        childSlot += 1;
      }
      if (!before(child, item)) break;
      place(child, slot);
      slot = childSlot;
    }
    place(item, slot);
  }

  function remove(item: T): void {
    const slot = item.slot;
    if (slot < 0) return;
    const last = items.pop()!;
    item.slot = -1;
    if (last === item) return;
    // The last item fills the hole; it may belong above or below it.
    rise(last, slot);
    if (last.slot === slot) sink(last, slot);
  }

  return {
    get size() {
      return items.length;
    },
    peek: () => items[0],
    push(item) {
      items.push(item);
      rise(item, items.length - 1);
    },
    pop() {
      const first = items[0];
      if (first !== undefined) remove(first);
      return first;
    },
    remove,
    clear() {
      for (const item of items) item.slot = -1;
      items.length = 0;
    },
  };
}
