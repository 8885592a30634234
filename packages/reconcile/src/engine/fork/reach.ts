// The nodes that an overlay may reach: from the cells that differ, along the edges of the main graph, to every node above. A node outside
// keeps its main result; one inside checks first whether the reads by which it was reached really differ.

import { keysSafely } from '../graph/bucket.ts';
import {
  type Edge,
  KEYS,
  MODE,
  type Node,
  PRESENCE,
  type Query,
  RETAINED,
  type RootState,
  type TableState,
  UNKNOWN,
} from '../graph/model.ts';
import { hasMember, isSuspended, matchesSafely, queriesOf } from '../graph/query.ts';
import { projectionChanged } from '../wave/evaluate.ts';
import { isListUnknown, mainPresence, mainValue, type View, viewPresence } from './overlay.ts';

export interface Reach {
  /** The edges by which a node was reached. */
  suspects: Map<Node, Edge[]>;
  /** Members that moved, by query. */
  moved: Map<Query, Set<string>>;
  entered: [RootState, string][];
  left: [RootState, string][];
}

export function reachOf(view: View): Reach {
  const reach: Reach = { suspects: new Map(), moved: new Map(), entered: [], left: [] };
  const reached: Node[] = [];
  const suspect = (edge: Edge) => {
    const known = reach.suspects.get(edge.reader);
    if (known !== undefined) {
      known.push(edge);
      return;
    }
    reach.suspects.set(edge.reader, [edge]);
    reached.push(edge.reader);
  };
  for (const [table, values] of view.overlay) {
    for (const [key, after] of values) reachCell(view, reach, table, key, after, suspect);
    // Only keys that are unknown keep a synced table's lists from being answered.
    for (const query of table.unknown.size === 0 ? [] : queriesOf(table)) {
      if (isSuspended(query) !== isListUnknown(view, table, query.where)) forEachReader(query, suspect);
    }
  }
  for (let node = reached.pop(); node !== undefined; node = reached.pop()) forEachReader(node, suspect);
  return reach;
}

function forEachReader(source: { first: Edge | undefined }, visit: (edge: Edge) => void): void {
  for (let edge = source.first; edge !== undefined; edge = edge.next) {
    if ((edge.mode & RETAINED) === 0) visit(edge);
  }
}

function reachCell(
  view: View,
  reach: Reach,
  table: TableState,
  key: string,
  after: unknown,
  suspect: (edge: Edge) => void,
): void {
  const before = mainValue(table, key);
  const was = mainPresence(table, key);
  const is = viewPresence(view, table, key);
  if (before === after && was === is) return;
  const cell = table.cells.get(key);
  if (cell !== undefined) {
    forEachReader(cell, (edge) => {
      if ((edge.mode & MODE) === PRESENCE ? was !== is : was === UNKNOWN || differs(edge, before, after, key))
        suspect(edge);
    });
  }
  reachLists(reach, table, key, before, after, suspect);
  if (was === UNKNOWN) {
    for (const root of table.roots) {
      const { query } = root;
      if (query === undefined || !root.members.has(key) || hasMember(query, key) !== undefined) continue;
      if (after === undefined || !matchesSafely(table, query.where, after, key)) reach.left.push([root, key]);
    }
  }
}

function reachLists(
  reach: Reach,
  table: TableState,
  key: string,
  before: unknown,
  after: unknown,
  suspect: (edge: Edge) => void,
): void {
  const seen = new Set<Query>();
  for (const index of table.indexes.values()) {
    for (const value of [before, after]) {
      if (value === undefined) continue;
      for (const bucketKey of keysSafely(index, value, key)) {
        const bucket = index.buckets.get(bucketKey);
        for (const query of bucket?.queries ?? []) seen.add(query);
        if (bucket?.own !== undefined) seen.add(bucket.own);
      }
    }
  }
  for (const query of seen) {
    const was = before !== undefined && matchesSafely(table, query.where, before, key);
    const is = after !== undefined && matchesSafely(table, query.where, after, key);
    if (!was && !is) continue;
    const moved = reach.moved.get(query);
    if (moved === undefined) reach.moved.set(query, new Set([key]));
    else moved.add(key);
    forEachReader(query, (edge) => {
      if (was !== is || ((edge.mode & MODE) !== KEYS && differs(edge, before, after, key))) suspect(edge);
    });
    if (was === is) continue;
    for (const root of query.roots ?? []) {
      if (is !== root.members.has(key)) (is ? reach.entered : reach.left).push([root, key]);
    }
  }
}

function differs({ project }: Edge, before: unknown, after: unknown, key: string): boolean {
  return project === undefined || projectionChanged(project, before, after, key);
}
