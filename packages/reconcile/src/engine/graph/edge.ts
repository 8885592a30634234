import {
  CELL,
  type Cell,
  type Edge,
  type Graph,
  IDLE,
  NO_MARK,
  NODE,
  type Node,
  QUERY,
  type Query,
  type Source,
  type TableState,
} from './model.ts';

/** Puts an edge into its source's list of readers. */
export function link(graph: Graph, edge: Edge): void {
  const { source } = edge;
  const { first } = source;
  if (first === undefined) firstReader(graph, source);
  else first.previous = edge;
  edge.next = first;
  source.first = edge;
  graph.edges++;
}

/** Takes an edge out; a source that nothing reads any more is freed, cells at once, queries and nodes when the wave ends. */
export function unlink(graph: Graph, edge: Edge): void {
  const { source, previous, next } = edge;
  if (previous === undefined) source.first = next;
  else previous.next = next;
  if (next !== undefined) next.previous = previous;
  edge.previous = undefined;
  edge.next = undefined;
  graph.edges--;
  if (source.kind === NODE) graph.released = true;
  if (source.first === undefined) lastReader(graph, source, edge.reader);
}

/** Every read of a node: those of its run, and for a fold those of its parts. */
export function* depsOf(node: Node): Generator<Edge> {
  yield* node.deps;
  if (node.fold === undefined) return;
  for (const { edge } of node.fold.parts.values()) if (edge !== undefined) yield edge;
}

/** A node that neither a reader nor a root wants is disposed of when the wave ends: re-runs drop and take up the same ones. */
export function idleNode(graph: Graph, node: Node): void {
  if (node.first !== undefined || node.holds > 0 || (node.flags & IDLE) !== 0) return;
  node.flags |= IDLE;
  graph.idleNodes.push(node);
}

export function idleQuery(graph: Graph, query: Query): void {
  if (query.first !== undefined || query.idle || (query.roots !== undefined && query.roots.size > 0)) return;
  query.idle = true;
  graph.idleQueries.push(query);
}

/** A cell is kept only for a value, a mark or a reader. */
export function freeCell(cell: Cell): void {
  if (cell.value === undefined && cell.mark === NO_MARK && cell.first === undefined) cell.table.cells.delete(cell.key);
}

export function touchList(graph: Graph, query: Query): void {
  if (query.table.demand === undefined) return;
  let lists = graph.demandLists.get(query.table);
  if (lists === undefined) graph.demandLists.set(query.table, (lists = new Map<string, Query>()));
  lists.set(query.canonical, query);
}

function firstReader(graph: Graph, source: Source): void {
  if (source.kind === CELL) touchKey(graph, source.table, source.key);
  else if (source.kind === QUERY) touchList(graph, source);
}

function lastReader(graph: Graph, source: Source, reader: Node): void {
  switch (source.kind) {
    case CELL:
      touchKey(graph, source.table, source.key);
      freeCell(source);
      break;
    case QUERY:
      touchList(graph, source);
      idleQuery(graph, source);
      break;
    case NODE:
      if (source.derivation.sink) graph.wave.triggers.set(source, reader);
      idleNode(graph, source);
      break;
  }
}

function touchKey(graph: Graph, table: TableState, key: string): void {
  if (table.demand === undefined) return;
  let keys = graph.demandKeys.get(table);
  if (keys === undefined) graph.demandKeys.set(table, (keys = new Set<string>()));
  keys.add(key);
}
