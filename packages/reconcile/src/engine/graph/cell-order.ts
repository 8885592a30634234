// The order of cells by their keys, and the namespace of a key.
import { type Cell, type TableState } from './model.ts';

export const NOTHING: readonly never[] = [];

export function namespaceOf(table: TableState, value: unknown, key: string): string {
  return table.namespace === undefined ? namespaceOfKey(key) : table.namespace(value, key);
}

export function namespaceOfKey(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

/** Where a key is, or would be, in cells sorted by key. */
export function position(cells: readonly Cell[], key: string): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cells[middle] as Cell).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function byKey(a: Cell, b: Cell): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
