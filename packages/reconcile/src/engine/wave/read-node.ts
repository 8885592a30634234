// A run meets another node. A new node runs at once, within the run that asks for it. A node that is known but not
// settled yet (it, or something below it, still waits in the queue above the height that the wave has reached) makes the
// run start again later, above that node: so no computation ever sees half of a change.
import { interned } from '@capstan/kube/cluster';
import {
  CYCLIC,
  type DerivationState,
  DIRTY,
  type Edge,
  FRESH,
  type Graph,
  INFLUENCES,
  NODE,
  type Node,
  QUEUED,
  RUNNING,
  type RunFrame,
} from '../graph/model.ts';
import { closeCycle, findPath, raiseAbove, runningPath } from './cycle.ts';
import { evaluate } from './evaluate.ts';
import { enqueue } from './schedule.ts';

/** The node of a key, made if need be. */
export function nodeFor(derivation: DerivationState, key: string): Node {
  let node = derivation.nodes.get(key);
  if (node === undefined) {
    node = newNode(derivation, interned(key));
    derivation.nodes.set(node.key, node);
  }
  return node;
}

export function newNode(derivation: DerivationState, key: string): Node {
  return {
    kind: NODE,
    first: undefined,
    stamp: 0,
    derivation,
    key,
    state: FRESH,
    value: undefined,
    deps: NO_EDGES,
    height: 0,
    flags: 0,
    holds: 0,
    ran: 0,
    cycle: undefined,
    fold: undefined,
  };
}

const NO_EDGES: readonly Edge[] = [];

/** So many runs may be under way within each other: each takes some frames of the stack, those of its author included. */
export const DEEPEST = 64;

/** Settles a node before it is read, if that can be done now. Running nodes are left to `follow`. */
export function prepare(graph: Graph, child: Node): boolean {
  if ((child.flags & RUNNING) !== 0) return true;
  if (graph.depth >= DEEPEST && (child.state === FRESH || (child.flags & DIRTY) !== 0)) return false;
  if (child.state === FRESH && (child.flags & QUEUED) === 0) return evaluate(graph, child);
  if ((child.flags & DIRTY) !== 0) {
    const others = graph.influencers - ((child.flags & INFLUENCES) === 0 ? 0 : 1);
    return (child.height <= graph.height || others === 0) && evaluate(graph, child);
  }
  return child.height <= graph.height || graph.influencers === 0;
}

/** Completes a read of a node, once its edge is linked: heights, cycles, and the order to start again. */
export function follow(graph: Graph, frame: RunFrame, edge: Edge, child: Node, ready: boolean): void {
  if ((child.flags & RUNNING) !== 0) {
    edge.mode |= CYCLIC;
    throw closeCycle(graph, frame, runningPath(frame, child)).error;
  }
  // Found further down, while the child ran.
  if (frame.cycled !== undefined) throw frame.cycled.error;
  if ((edge.mode & CYCLIC) !== 0 || child.height >= frame.node.height || child.cycle !== undefined) {
    const path = raiseAbove(frame.node, child) && child.cycle === undefined ? undefined : findPath(child, frame.node);
    if (path !== undefined) {
      edge.mode |= CYCLIC;
      const cycle = closeCycle(graph, frame, path);
      frame.cycled = cycle;
      throw cycle.error;
    }
    edge.mode &= ~CYCLIC;
  }
  if (!ready) {
    // The lower part of a chain that is too long for the stack runs first, by itself.
    if (child.state === FRESH || (child.flags & DIRTY) !== 0) enqueue(graph, child);
    frame.restart = true;
    throw RESTART;
  }
}

/** Thrown through computations; only the frame's `restart` counts. */
export const RESTART = new Error('the run read a node that is not settled yet; the engine repeats the run');
