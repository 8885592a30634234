// Dirty nodes wait in one list per height, and the lowest runs first: when a node runs, its former reads are settled.
import { DIRTY, type Graph, INFLUENCES, type Node, QUEUED, type Source } from '../graph/model.ts';

/** A source that the node reads has changed as the node sees it: it must run in this wave. */
export function mark(graph: Graph, node: Node, source: Source | undefined): void {
  if (source !== undefined && (node.flags & DIRTY) === 0) graph.wave.triggers.set(node, source);
  enqueue(graph, node);
}

export function enqueue(graph: Graph, node: Node): void {
  node.flags |= DIRTY;
  if ((node.flags & INFLUENCES) === 0 && node.first !== undefined) {
    node.flags |= INFLUENCES;
    graph.influencers++;
  }
  if ((node.flags & QUEUED) !== 0) return;
  node.flags |= QUEUED;
  push(graph, node);
}

/** The node is about to run: it is clean until something marks it again, be it during the run. */
export function takeUp(graph: Graph, node: Node): void {
  if ((node.flags & INFLUENCES) !== 0) graph.influencers--;
  node.flags &= ~(DIRTY | INFLUENCES);
}

/** The next dirty node, lowest first. A node that nothing reads stays dirty, and runs only if a reader reads it again. */
export function next(graph: Graph): Node | undefined {
  for (; graph.low < graph.queue.length; graph.low++) {
    const level = graph.queue[graph.low];
    for (let node = level?.pop(); node !== undefined; node = level?.pop()) {
      if (node.height > graph.low && (node.flags & DIRTY) !== 0) {
        push(graph, node);
        continue;
      }
      node.flags &= ~QUEUED;
      if ((node.flags & DIRTY) === 0) continue;
      if (node.first === undefined && node.holds === 0) {
        if ((node.flags & INFLUENCES) !== 0) graph.influencers--;
        node.flags &= ~INFLUENCES;
        continue;
      }
      graph.height = graph.low;
      return node;
    }
  }
  return undefined;
}

function push(graph: Graph, node: Node): void {
  const { height } = node;
  while (graph.queue.length <= height) graph.queue.push([]);
  graph.queue[height]?.push(node);
  if (height < graph.low) graph.low = height;
}
