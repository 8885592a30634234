// Buckets of an index: the cells that have one key in it.
import { interned } from '@capstan/kube/cluster';
import type { Index } from '../engine-types.ts';
import { NOTHING } from './cell-order.ts';
import { blame, checkedKeys } from './fault.ts';
import { type Bucket, type BucketIndex, type Cell, type Graph, type TableState } from './model.ts';
import { hasItem, sizeOf, withItem } from './small-set.ts';

/** The bucket of a key, made if need be. */
export function bucketFor(index: BucketIndex, key: string): Bucket {
  let bucket = index.buckets.get(key);
  if (bucket === undefined) {
    bucket = { index, key: interned(key), cells: NOTHING, queries: NOTHING, own: undefined, limit: NO_LIMIT };
    index.buckets.set(bucket.key, bucket);
  }
  return bucket;
}

export function freeBucket(bucket: Bucket): void {
  if (bucket.own === undefined && sizeOf(bucket.cells) === 0 && sizeOf(bucket.queries) === 0) {
    bucket.index.buckets.delete(bucket.key);
  }
}

export const ALL_KEYS: readonly string[] = [''];

export const NO_KEYS: readonly string[] = [];

/** A small integer on purpose: a double would be a heap object in every bucket. */
const NO_LIMIT = 2 ** 30 - 1;

export function declaredIndex(graph: Graph, table: TableState, declared: Index<unknown>): BucketIndex {
  let index = table.declared.get(declared);
  if (index === undefined) {
    const what = `the index ${declared.name}`;
    index = indexOf(graph, table, `index ${declared.name}`, (value, key) =>
      checkedKeys(what, declared.keysOf(value, key)),
    );
    index.declared = declared;
    table.declared.set(declared, index);
  }
  return index;
}

export function indexOf(graph: Graph, table: TableState, name: string, keysOf: BucketIndex['keysOf']): BucketIndex {
  let index = table.indexes.get(name);
  if (index !== undefined) return index;
  index = { name, declared: undefined, keysOf, buckets: new Map(), failed: new Set() };
  table.indexes.set(name, index);
  for (const cell of table.cells.values()) {
    if (cell.value === undefined) continue;
    for (const key of keysIn(graph, index, cell)) {
      const bucket = bucketFor(index, key);
      bucket.cells = withItem(bucket.cells, cell);
    }
  }
  return index;
}

/** The keys of a cell's value; none where the function fails on it, which is recorded. */
export function keysIn(graph: Graph, index: BucketIndex, cell: Cell): readonly string[] {
  if (index.failed.size > 0) index.failed.delete(cell);
  try {
    return index.keysOf(cell.value, cell.key);
  } catch (error) {
    blame(graph, cell, `the ${index.name}`, error);
    index.failed.add(cell);
    return NO_KEYS;
  }
}

/** The keys of the value that a cell had before. A function that is not pure may fail now: then the buckets that hold it show them. */
export function keysBefore(index: BucketIndex, value: unknown, cell: Cell): readonly string[] {
  if (index.failed.has(cell)) return NO_KEYS;
  try {
    return index.keysOf(value, cell.key);
  } catch {
    return [...index.buckets].flatMap(([key, { cells }]) => (hasItem(cells, cell) ? [key] : []));
  }
}

/** The keys of a value that is in no cell; none where the function fails on it. */
export function keysSafely(index: BucketIndex, value: unknown, key: string): readonly string[] {
  try {
    return index.keysOf(value, key);
  } catch {
    return NO_KEYS;
  }
}

export function limitFor(bucket: Bucket): number {
  return Math.max(64, sizeOf(bucket.cells) * 10);
}

export function totalSize(buckets: readonly Bucket[]): number {
  return buckets.reduce((size, bucket) => size + sizeOf(bucket.cells), 0);
}
