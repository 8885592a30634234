// The edges of the graph in both directions, for people and for walks: reads of a node, readers of a cell or of a node. Nothing here
// is bounded, because one step costs as much as the edges that it returns.
import type { Derivation, NodeReader, Presence, Reading, TableChange } from './engine-types.ts';
import { keysSafely } from './graph/bucket.ts';
import { depsOf } from './graph/edge.ts';
import {
  CELL,
  type DerivationState,
  type Edge,
  type Graph,
  KNOWN,
  type Node,
  presenceOf,
  QUERY,
  RETAINED,
  type Source,
  type TableState,
  UNKNOWN,
} from './graph/model.ts';
import { isAside, isUnrecorded } from './graph/projection.ts';
import { hasMember, materialize, waitingForList } from './graph/query.ts';

/** The reads of a node's last run, in their order; empty for a node that is not alive. */
export function readingsOf(graph: Graph, derivation: DerivationState, key: string): readonly Reading[] {
  const node = derivation.nodes.get(key);
  if (node === undefined) return [];
  return [...depsOf(node)].filter(isRead).map((edge) => reading(graph, edge));
}

/** Every node whose last run read a key of a table: by its name, or as a member of a list. */
export function readersOfCell(graph: Graph, table: TableState, key: string): readonly NodeReader[] {
  const cell = table.cells.get(key);
  if (cell === undefined) return [];
  const found = readersAt(cell, 'object');
  if (cell.value === undefined) return found;
  for (const query of table.queries.values()) {
    if (query.first === undefined) continue;
    materialize(graph, query);
    if (hasMember(query, key) !== undefined) found.push(...readersAt(query, 'list'));
  }
  // An index has a list for nearly every object: ask only for those that the object is in.
  for (const index of table.declared.values()) {
    for (const value of new Set(keysSafely(index, cell.value, key))) {
      const own = index.buckets.get(value)?.own;
      if (own !== undefined && hasMember(own, key) !== undefined) found.push(...readersAt(own, 'list'));
    }
  }
  return found;
}

/** Every node whose last run read a node. */
export function readersOfNode(derivation: DerivationState, key: string): readonly NodeReader[] {
  const node = derivation.nodes.get(key);
  return node === undefined ? [] : readersAt(node, 'derived');
}

function readersAt(source: Source, by: NodeReader['by']): NodeReader[] {
  const found: NodeReader[] = [];
  for (let edge = source.first; edge !== undefined; edge = edge.next) {
    if (!isRead(edge)) continue;
    found.push({ ...handleOf(edge.reader), by, projection: edge.project?.name ?? '' });
  }
  return found;
}

function isRead({ mode }: Edge): boolean {
  return (mode & RETAINED) === 0;
}

function reading(graph: Graph, { source, project }: Edge): Reading {
  const common = {
    projection: project?.name ?? '',
    ...(isAside(project) || isUnrecorded(project) ? { isAside: true as const } : {}),
  };
  if (source.kind === CELL) {
    return {
      kind: 'object',
      table: source.table.name,
      key: source.key,
      presence: presenceName(presenceOf(source)),
      ...common,
    };
  }
  if (source.kind === QUERY) {
    const members = materialize(graph, source).map(({ key }) => key);
    return { kind: 'list', table: source.table.name, list: waitingForList(source), members, ...common };
  }
  return { kind: 'derived', ...handleOf(source), ...common };
}

function presenceName(presence: number): Presence {
  return presence === KNOWN ? 'known' : presence === UNKNOWN ? 'unknown' : 'absent';
}

/** The keys that the last wave took in. */
export function* tableChanges(graph: Graph): Generator<TableChange> {
  for (const [{ table, key }, event] of graph.wave.cells) {
    yield {
      event,
      table: table.name,
      key,
      isSensitive: table.sensitive,
      presence: { before: presenceName(event.beforePresence), after: presenceName(event.afterPresence) },
      before: event.before,
      after: event.after,
    };
  }
}

function handleOf({ derivation, key }: Node): { derivation: Derivation<unknown>; key: string } {
  return { derivation, key };
}
