// The start of a wave: pending changes enter the tables, buckets and cached lists, and mark the nodes that see them.
// Before and after of a cell are compared once, through each projection that was read with; nothing runs here.
import { share } from '@capstan/kube/cluster';
import type { Projection } from '../engine-types.ts';
import { bucketFor, freeBucket, keysBefore, keysIn } from '../graph/bucket.ts';
import { freeCell } from '../graph/edge.ts';
import { acquit } from '../graph/fault.ts';
import {
  ABSENT,
  type Bucket,
  type BucketIndex,
  type Cell,
  type CellEvent,
  type Edge,
  type Graph,
  type Incoming,
  KEYS,
  MARK_ABSENT,
  MARK_UNKNOWN,
  MODE,
  NO_MARK,
  PRESENCE,
  presenceOf,
  type Query,
  RETAINED,
  type TableState,
  UNKNOWN,
} from '../graph/model.ts';
import { addMember, isMember, isSuspended, queriesOf, removeMember, wasMember } from '../graph/query.ts';
import { sizeOf, withItem, withoutItem } from '../graph/small-set.ts';
import { cellFor } from '../graph/table.ts';
import { projectionChanged } from './evaluate.ts';
import { enterRoot, leaveRoot, settleRoots } from './root.ts';
import { mark } from './schedule.ts';

/** From here on changes wait for the next wave, in every table alike. */
export function closeIntake(graph: Graph): void {
  for (const table of graph.tables) {
    if (table.incoming.size === 0 && table.incomingSynced === table.synced) continue;
    table.entering = table.incoming;
    table.enteringSynced = table.incomingSynced;
    table.incoming = new Map();
  }
}

/** Takes in the pending changes of one table; yields often, so that the caller may pause. */
export function* intake(graph: Graph, table: TableState): Generator<void> {
  const { entering, synced: wasSynced } = table;
  if (entering === undefined) return;
  const syncing = table.enteringSynced !== wasSynced;
  const suspended = listsToWatch(table, entering, syncing);
  table.synced = table.enteringSynced;
  if (syncing) graph.recorder?.listed(table, table.synced);
  table.syncing = syncing;
  if (syncing) {
    for (const cell of table.cells.values()) {
      if (cell.value === undefined && cell.mark === NO_MARK && !entering.has(cell.key)) {
        dispatch(graph, {
          cell,
          before: undefined,
          beforePresence: wasSynced ? ABSENT : UNKNOWN,
          after: undefined,
          afterPresence: table.synced ? ABSENT : UNKNOWN,
        });
      }
    }
  }
  for (const [key, incoming] of entering) {
    enter(graph, table, key, incoming, wasSynced);
    yield;
  }
  table.entering = undefined;
  for (const [query, was] of suspended) if (isSuspended(query) !== was) wakeList(graph, query);
  if (syncing) for (const root of table.roots) settleRoots(graph, root);
  table.syncing = false;
}

/** Lists whose being answerable may change: few tables ever have unknown keys. */
function listsToWatch(table: TableState, entering: Map<string, Incoming>, syncing: boolean): Map<Query, boolean> {
  const watched = new Map<Query, boolean>();
  let any = syncing || table.unknown.size > 0;
  if (!any) for (const incoming of entering.values()) any ||= incoming.mark === MARK_UNKNOWN;
  if (any) for (const query of queriesOf(table)) watched.set(query, isSuspended(query));
  return watched;
}

function wakeList(graph: Graph, query: Query): void {
  for (let edge = query.first; edge !== undefined; edge = edge.next) {
    if ((edge.mode & RETAINED) !== 0) continue;
    if (edge.reader.fold !== undefined) edge.reader.fold.stale = true;
    mark(graph, edge.reader, query);
  }
}

function enter(graph: Graph, table: TableState, key: string, incoming: Incoming, wasSynced: boolean): void {
  const existing = table.cells.get(key);
  const before = existing?.value;
  const after = incoming.value === undefined ? undefined : sharedWith(before, incoming.value);
  // A key that is absent anyway needs no mark.
  const plain = incoming.mark === MARK_ABSENT && table.synced;
  const nextMark = plain ? NO_MARK : incoming.mark;
  if (existing === undefined && after === undefined && nextMark === NO_MARK) return;
  const cell = existing ?? cellFor(table, key);
  if (after !== before || cell.mark !== nextMark)
    graph.recorder?.entered(table, key, incoming.value, before, after, nextMark);
  const beforePresence = presenceBefore(cell, wasSynced);
  cell.value = after;
  cell.mark = nextMark;
  if (before === undefined && after !== undefined) table.values++;
  if (before !== undefined && after === undefined) table.values--;
  if (nextMark === MARK_UNKNOWN) table.unknown.add(key);
  else table.unknown.delete(key);
  const afterPresence = presenceOf(cell);
  if (after !== before || afterPresence !== beforePresence) {
    dispatch(graph, { cell, before, beforePresence, after, afterPresence });
  }
  freeCell(cell);
}

/** A value that cannot be compared (it contains itself) counts as another one. */
function sharedWith(before: unknown, after: unknown): unknown {
  try {
    return share(before, after);
  } catch {
    return after;
  }
}

function presenceBefore(cell: Cell, wasSynced: boolean): number {
  if (cell.value === undefined && cell.mark === NO_MARK) return wasSynced ? ABSENT : UNKNOWN;
  return presenceOf(cell);
}

function dispatch(graph: Graph, event: CellEvent): void {
  const { cell } = event;
  graph.wave.cells.set(cell, event);
  if (graph.faults.size > 0) acquit(graph, cell);
  if (cell.first !== undefined) wakeCellReaders(graph, event);
  if (event.before !== undefined || event.after !== undefined) moveInBuckets(graph, event);
  if (event.beforePresence === UNKNOWN) for (const root of cell.table.roots) settleRoots(graph, root, cell.key);
}

function wakeCellReaders(graph: Graph, event: CellEvent): void {
  const { cell, before, after } = event;
  const samePresence = event.beforePresence === event.afterPresence;
  // Between known and absent a projection may see no difference; to and from unknown there always is one.
  const comparable = event.beforePresence !== UNKNOWN && event.afterPresence !== UNKNOWN;
  const changed = projector(before, after, cell.key);
  for (let edge = cell.first; edge !== undefined; edge = edge.next) {
    if ((edge.mode & RETAINED) !== 0) continue;
    const wakes = (edge.mode & MODE) === PRESENCE ? !samePresence : !comparable || changed(edge);
    if (wakes) mark(graph, edge.reader, cell);
  }
}

/** Compares through an edge's projection, once for all neighbours that share it. */
function projector(before: unknown, after: unknown, key: string): (edge: Edge) => boolean {
  let last: Projection | undefined;
  let lastChanged = true;
  return ({ project }) => {
    if (project === undefined) return true;
    if (project !== last) {
      last = project;
      lastChanged = projectionChanged(project, before, after, key);
    }
    return lastChanged;
  };
}

const NO_KEYS: readonly string[] = [];

function moveInBuckets(graph: Graph, event: CellEvent): void {
  const { cell, before, after } = event;
  const number = ++graph.nextEvent;
  for (const index of cell.table.indexes.values()) {
    const failed = index.failed.size;
    const old = before === undefined ? NO_KEYS : keysBefore(index, before, cell);
    if (failed > 0) index.failed.delete(cell);
    const now = after === undefined ? NO_KEYS : keysIn(graph, index, cell);
    if (failed > 0 !== index.failed.size > 0) wakeIndex(graph, index);
    for (const key of old) {
      const bucket = index.buckets.get(key);
      if (bucket === undefined) continue;
      const stays = now.includes(key);
      testQueries(graph, bucket, event, number);
      if (bucket.own !== undefined) testOwn(graph, bucket.own, event, number, true, stays);
      if (stays) continue;
      bucket.cells = withoutItem(bucket.cells, cell);
      freeBucket(bucket);
    }
    for (const key of now) {
      if (old.includes(key)) continue;
      const bucket = bucketFor(index, key);
      bucket.cells = withItem(bucket.cells, cell);
      testQueries(graph, bucket, event, number);
      if (bucket.own !== undefined) testOwn(graph, bucket.own, event, number, false, true);
      if (sizeOf(bucket.cells) > bucket.limit) graph.grown.add(bucket);
    }
  }
}

/** An index began, or ceased, to lack objects: readers of any key may remove objects only while it lacks none. */
function wakeIndex(graph: Graph, index: BucketIndex): void {
  for (const { own, queries } of index.buckets.values()) {
    if (own !== undefined) wakeList(graph, own);
    for (const query of queries) wakeList(graph, query);
  }
}

function testQueries(graph: Graph, bucket: Bucket, event: CellEvent, number: number): void {
  for (const query of bucket.queries) {
    if (query.seen === number) continue;
    query.seen = number;
    const { cell, before, after } = event;
    const was = before !== undefined && wasMember(graph, query, before, cell);
    const failed = query.failed?.delete(cell) ?? false;
    const is = after !== undefined && isMember(graph, query, after, cell);
    if (failed !== (query.failed?.has(cell) ?? false)) wakeList(graph, query);
    if (was || is) changeList(graph, query, event, was, is);
  }
}

/** An object is in a bucket's list exactly if it is in the bucket. An index may name a bucket twice. */
function testOwn(graph: Graph, query: Query, event: CellEvent, number: number, was: boolean, is: boolean): void {
  if (query.seen === number) return;
  query.seen = number;
  changeList(graph, query, event, was, is);
}

function changeList(graph: Graph, query: Query, event: CellEvent, was: boolean, is: boolean): void {
  const events = graph.wave.queries.get(query);
  if (events === undefined) graph.wave.queries.set(query, [event]);
  else events.push(event);
  if (was === is) wakeListReaders(graph, query, event);
  else changeMembership(graph, query, event, is);
}

function changeMembership(graph: Graph, query: Query, event: CellEvent, enters: boolean): void {
  const { cell } = event;
  if (enters) addMember(query, cell);
  else removeMember(query, cell);
  for (let edge = query.first; edge !== undefined; edge = edge.next) {
    if ((edge.mode & RETAINED) !== 0) continue;
    edge.reader.fold?.moved.add(cell.key);
    mark(graph, edge.reader, query);
  }
  for (const root of query.roots ?? []) {
    if (enters) enterRoot(graph, root, cell, event);
    else if (event.afterPresence !== UNKNOWN) leaveRoot(graph, root, cell);
  }
}

function wakeListReaders(graph: Graph, query: Query, event: CellEvent): void {
  const changed = projector(event.before, event.after, event.cell.key);
  for (let edge = query.first; edge !== undefined; edge = edge.next) {
    if ((edge.mode & RETAINED) !== 0 || (edge.mode & MODE) === KEYS || !changed(edge)) continue;
    edge.reader.fold?.moved.add(event.cell.key);
    mark(graph, edge.reader, query);
  }
}
