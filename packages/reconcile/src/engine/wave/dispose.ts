// The end of a wave: removes nodes that nothing reads or holds, and with them the nodes that only they read.
import { depsOf, unlink } from '../graph/edge.ts';
import { pardon } from '../graph/fault.ts';
import {
  DIRTY,
  DISPOSED,
  FRESH,
  type Graph,
  IDLE,
  INFLUENCES,
  type Node,
  type Query,
  RUNNING,
} from '../graph/model.ts';
import { dropQuery } from '../graph/query.ts';

/** Forgets retired tables and derivations in which nothing is left. */
export function forgetRetired(graph: Graph): void {
  for (const retired of graph.retired) {
    const left =
      'nodes' in retired ? retired.nodes.size : retired.cells.size + retired.queries.size + retired.bucketQueries;
    if (left > 0) continue;
    graph.retired.delete(retired);
    if ('nodes' in retired) graph.derivations.splice(graph.derivations.indexOf(retired), 1);
    else graph.tables.splice(graph.tables.indexOf(retired), 1);
  }
}

/** Yields after every node, so that the caller may pause. */
export function* collectIdle(graph: Graph): Generator<void> {
  do {
    for (let node = graph.idleNodes.pop(); node !== undefined; node = graph.idleNodes.pop()) {
      node.flags &= ~IDLE;
      if (isLive(node) || (node.flags & DISPOSED) !== 0) continue;
      dispose(graph, node);
      yield;
    }
    collectCycles(graph);
  } while (graph.idleNodes.length > 0);
  for (let query = graph.idleQueries.pop(); query !== undefined; query = graph.idleQueries.pop()) {
    query.idle = false;
    if (!isRead(query)) dropQuery(query);
  }
}

export function isRead(query: Query): boolean {
  return query.first !== undefined || query.roots !== undefined;
}

function isLive(node: Node): boolean {
  return node.first !== undefined || node.holds > 0;
}

function dispose(graph: Graph, node: Node): void {
  if ((node.flags & INFLUENCES) !== 0) graph.influencers--;
  node.flags = (node.flags & ~(DIRTY | INFLUENCES | RUNNING)) | DISPOSED;
  node.derivation.nodes.delete(node.key);
  graph.recorder?.disposed(node);
  graph.cyclic.delete(node);
  graph.retaining.delete(node);
  if (node.derivation.sink && node.state !== FRESH && !graph.wave.changed.has(node)) {
    graph.wave.changed.set(node, { state: node.state, value: node.value });
  }
  for (const edge of depsOf(node)) unlink(graph, edge);
  node.deps = [];
  for (const cell of node.fold?.blamed.values() ?? []) pardon(graph, cell, `the fold ${node.derivation.name}`);
  node.fold = undefined;
}

/** Members of a cycle, and nodes that a failure retains, may keep each other alive; they go when no root is above any of them. */
function collectCycles(graph: Graph): void {
  if (!graph.released) return;
  graph.released = false;
  for (const member of [...graph.cyclic, ...graph.retaining]) {
    if ((member.flags & DISPOSED) !== 0) continue;
    const above = new Set([member]);
    let held = false;
    for (const node of above) {
      held ||= node.holds > 0;
      if (held) break;
      for (let edge = node.first; edge !== undefined; edge = edge.next) above.add(edge.reader);
    }
    if (held) continue;
    for (const node of above) if ((node.flags & DISPOSED) === 0) dispose(graph, node);
  }
}
