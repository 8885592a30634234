// Lists. A query is interned by its canonical `where`, and registered in the smallest buckets that every member of it must be in: those of
// an equality or In term, of "has the label", of a declared index, of its namespace, or of all. Namespaces, labels and declared indexes are
// all the same index with a key function, created on first use. The list of a declared index alone is the bucket itself.
import type { Index } from '../engine-types.ts';
import { ALL_KEYS, bucketFor, declaredIndex, freeBucket, indexOf, limitFor, NO_KEYS, totalSize } from './bucket.ts';
import { byKey, NOTHING, namespaceOf, namespaceOfKey, position } from './cell-order.ts';
import { blame, checkedAnswer, checkedKeys } from './fault.ts';
import {
  type Bucket,
  type BucketIndex,
  type BucketQuery,
  type Cell,
  type Edge,
  type Graph,
  type ListQuery,
  QUERY,
  type Query,
  type RootState,
  type TableState,
} from './model.ts';
import { hasItem, type SmallSet, sizeOf, withItem, withoutItem } from './small-set.ts';
import { canonicalWhere, describeWhere, type SelectorTerm, type Where } from './where.ts';

export function queryFor<V>(graph: Graph, table: TableState, where: Where<V>): Query {
  const wanted = where as unknown as Where;
  if (isIndexOnly(wanted)) return bucketQueryFor(graph, table, wanted.index[0], wanted.index[1]);
  const canonical = canonicalWhere(wanted, (predicate) => predicateId(graph, predicate));
  let query = table.queries.get(canonical);
  if (query !== undefined) return query;
  query = {
    kind: QUERY,
    first: undefined,
    stamp: 0,
    table,
    bucket: undefined,
    canonical,
    where: wanted,
    anchor: undefined,
    cells: undefined,
    failed: undefined,
    roots: undefined,
    seen: 0,
    idle: false,
  };
  table.queries.set(canonical, query);
  if (wanted.where !== undefined && ++table.whereQueries > MANY_PREDICATES && !table.warned) {
    table.warned = true;
    graph.warn(
      `more than ${MANY_PREDICATES} lists of ${table.name} use a predicate, and every event is tested against each; declare an index`,
    );
  }
  return query;
}

const MANY_PREDICATES = 100;

function isIndexOnly(where: Where): where is Where & Required<Pick<Where, 'index'>> {
  const { index, namespace, selector, where: predicate } = where;
  return index !== undefined && namespace === undefined && selector === undefined && predicate === undefined;
}

/** Returns the list that a declared index finds for a value. */
export function bucketQueryFor(graph: Graph, table: TableState, index: Index<unknown>, value: string): BucketQuery {
  const bucket = bucketFor(declaredIndex(graph, table, index), value);
  if (bucket.own === undefined) {
    bucket.own = new WholeBucket(table, bucket);
    table.bucketQueries++;
  }
  return bucket.own;
}

class WholeBucket implements BucketQuery {
  readonly kind = QUERY;
  first: Edge | undefined = undefined;
  stamp = 0;
  readonly table: TableState;
  readonly bucket: Bucket;
  roots: Set<RootState> | undefined = undefined;
  seen = 0;
  idle = false;

  constructor(table: TableState, bucket: Bucket) {
    this.table = table;
    this.bucket = bucket;
  }

  get where(): Where {
    const { index, key } = this.bucket;
    return { index: [index.declared as Index<unknown>, key] };
  }

  get canonical(): string {
    // Without a predicate, nothing is asked for an id.
    return canonicalWhere(this.where, () => 0);
  }
}

/** The query that stands for a `where` now; undefined where nothing reads it. */
export function knownQuery(table: TableState, where: Where, canonical: string): Query | undefined {
  if (!isIndexOnly(where)) return table.queries.get(canonical);
  return table.declared.get(where.index[0])?.buckets.get(where.index[1])?.own;
}

export function* queriesOf(table: TableState): Generator<Query> {
  yield* table.queries.values();
  for (const { buckets } of table.declared.values()) {
    for (const { own } of buckets.values()) if (own !== undefined) yield own;
  }
}

/** The members in the order of their keys. The array is the query's own: not to be kept or changed. */
export function materialize(graph: Graph, query: Query): readonly Cell[] {
  if (query.bucket !== undefined) return sorted(query.bucket.cells);
  if (query.cells !== undefined) return query.cells;
  query.anchor ??= register(query, chooseBuckets(graph, query));
  const cells: Cell[] = [];
  for (const bucket of query.anchor) {
    for (const cell of bucket.cells) if (isMember(graph, query, cell.value, cell)) cells.push(cell);
  }
  // An object has one value of a label, but may be in several buckets of a declared index: those are read one at a time.
  query.cells = cells.sort(byKey).slice();
  return query.cells;
}

function sorted(cells: SmallSet<Cell>): readonly Cell[] {
  if (cells instanceof Set) return [...cells].sort(byKey);
  return cells.length < 2 ? cells : cells.toSorted(byKey);
}

/** Whether the value of a cell belongs to a list. One on which the predicate fails does not, and the failure is recorded. */
export function isMember(graph: Graph, query: ListQuery, value: unknown, cell: Cell): boolean {
  graph.predicateEvaluations++;
  try {
    return matches(query.table, query.where, value, cell.key);
  } catch (error) {
    blame(graph, cell, predicateName(query.where), error);
    (query.failed ??= new Set()).add(cell);
    return false;
  }
}

/** Whether the value that a cell had before belonged to a list. */
export function wasMember(graph: Graph, query: ListQuery, value: unknown, cell: Cell): boolean {
  graph.predicateEvaluations++;
  try {
    return matches(query.table, query.where, value, cell.key);
  } catch {
    return hasMember(query, cell.key) !== undefined;
  }
}

function predicateName({ where, index }: Where): string {
  return where === undefined ? `the index ${index?.[0].name ?? ''}` : `the predicate ${where.name || 'of a list'}`;
}

/** The same for a reader outside the graph: a failure counts as no. */
export function matchesSafely(table: TableState, where: Where, value: unknown, key: string): boolean {
  try {
    return matches(table, where, value, key);
  } catch {
    return false;
  }
}

export function matches(table: TableState, where: Where, value: unknown, key: string): boolean {
  if (where.namespace !== undefined && namespaceOf(table, value, key) !== where.namespace) return false;
  if (where.selector !== undefined && !where.selector.matches(table.labels?.(value))) return false;
  if (
    where.index !== undefined &&
    !checkedKeys('the index', where.index[0].keysOf(value, key)).includes(where.index[1])
  )
    return false;
  return where.where === undefined || checkedAnswer('the predicate', where.where(value, key));
}

/** Whether a list cannot be answered: its table is not synced, or a key that may belong to it is unknown. */
export function isSuspended(query: Query): boolean {
  return isUnknown(query.table, query.where);
}

export function isUnknown(table: TableState, where: Where): boolean {
  if (!table.synced) return true;
  if (table.unknown.size === 0) return false;
  if (where.namespace === undefined || table.namespace !== undefined) return true;
  for (const key of table.unknown) if (namespaceOfKey(key) === where.namespace) return true;
  return false;
}

export function waitingForList(query: Query): string {
  return waitingForWhere(query.table, query.where);
}

export function waitingForWhere(table: TableState, where: Where): string {
  return `${table.name}[${describeWhere(where)}]`;
}

/** A cell entered the query: the cached list takes it in at its place. */
export function addMember(query: Query, cell: Cell): void {
  if (query.bucket !== undefined || query.cells === undefined) return;
  const at = position(query.cells, cell.key);
  if (query.cells[at] !== cell) query.cells.splice(at, 0, cell);
}

export function removeMember(query: Query, cell: Cell): void {
  if (query.bucket !== undefined || query.cells === undefined) return;
  const at = position(query.cells, cell.key);
  if (query.cells[at] === cell) query.cells.splice(at, 1);
}

export function hasMember(query: Query, key: string): Cell | undefined {
  if (query.bucket !== undefined) {
    const found = query.table.cells.get(key);
    return found !== undefined && hasItem(query.bucket.cells, found) ? found : undefined;
  }
  if (query.cells === undefined) return undefined;
  const cell = query.cells[position(query.cells, key)];
  return cell?.key === key ? cell : undefined;
}

/** Forgets a query that nothing reads. */
export function dropQuery(query: Query): void {
  if (query.bucket !== undefined) {
    // Another one may have taken its place.
    if (query.bucket.own !== query) return;
    query.bucket.own = undefined;
    query.table.bucketQueries--;
    freeBucket(query.bucket);
    return;
  }
  query.failed = undefined;
  query.table.queries.delete(query.canonical);
  if (query.where.where !== undefined) query.table.whereQueries--;
  unregister(query);
  query.cells = undefined;
}

/** Queries of a bucket that has outgrown its limit choose again. */
export function chooseAgain(graph: Graph, bucket: Bucket): void {
  const queries = [...bucket.queries];
  for (const query of queries) {
    const better = chooseBuckets(graph, query);
    if (better[0] === bucket || totalSize(better) >= sizeOf(bucket.cells)) continue;
    unregister(query);
    query.anchor = register(query, better);
  }
  bucket.limit = limitFor(bucket);
}

function chooseBuckets(graph: Graph, query: ListQuery): Bucket[] {
  const { table, where } = query;
  let best: { index: BucketIndex; keys: readonly string[]; size: number } | undefined;
  const offer = (index: BucketIndex, keys: readonly string[]) => {
    let size = 0;
    for (const key of keys) size += sizeOf(index.buckets.get(key)?.cells ?? NOTHING);
    if (best === undefined || size < best.size) best = { index, keys, size };
  };
  if (where.index !== undefined) {
    const [declared, value] = where.index;
    offer(declaredIndex(graph, table, declared), [value]);
  }
  if (where.namespace !== undefined) {
    offer(
      indexOf(graph, table, 'namespace', (value, key) => [namespaceOf(table, value, key)]),
      [where.namespace],
    );
  }
  for (const term of where.selector?.terms ?? []) {
    // Good enough: an index on one more label costs every event, a few more tests cost little.
    if (best !== undefined && best.size > 0 && best.size <= SMALL_BUCKET) break;
    offerTerm(graph, table, term, offer);
  }
  best ??= { index: indexOf(graph, table, 'all', () => ALL_KEYS), keys: ALL_KEYS, size: 0 };
  const { index, keys } = best;
  return keys.map((key) => bucketFor(index, key));
}

const SMALL_BUCKET = 8;

function offerTerm(
  graph: Graph,
  table: TableState,
  term: SelectorTerm,
  offer: (index: BucketIndex, keys: readonly string[]) => void,
): void {
  const { key: label } = term;
  if (term.operator === 'In') {
    const index = indexOf(graph, table, `label ${label}`, (value) => {
      const found = table.labels?.(value)?.[label];
      return found === undefined ? NO_KEYS : [found];
    });
    offer(index, [...new Set(term.values)]);
  } else if (term.operator === 'Exists') {
    offer(
      indexOf(graph, table, `has ${label}`, (value) =>
        table.labels?.(value)?.[label] === undefined ? NO_KEYS : ALL_KEYS,
      ),
      ALL_KEYS,
    );
  }
}

function register(query: ListQuery, buckets: Bucket[]): Bucket[] {
  for (const bucket of buckets) {
    if (sizeOf(bucket.queries) === 0) bucket.limit = limitFor(bucket);
    bucket.queries = withItem(bucket.queries, query);
  }
  return buckets;
}

function unregister(query: ListQuery): void {
  for (const bucket of query.anchor ?? []) {
    bucket.queries = withoutItem(bucket.queries, query);
    freeBucket(bucket);
  }
  query.anchor = undefined;
}

export function predicateId(graph: Graph, predicate: object): number {
  let id = graph.predicateIds.get(predicate);
  if (id === undefined) graph.predicateIds.set(predicate, (id = ++graph.nextPredicate));
  return id;
}
