// Cycles. Heights grow along edges, so a cycle shows when raising a reader above its reads comes back to one of them, or when a run meets a
// node that is running. The closing edge is marked, heights do not follow it, and every member gets the same error (its path begins at the
// smallest name) or its onCycle value. A member whose cycle changed marks the others, so that a broken cycle dissolves. If a node is in
// several cycles, the order of reads decides which one is found first; so before a wave ends, each node gets the shortest one through it.
import { depsOf } from '../graph/edge.ts';
import { EngineErrors } from '../graph/errors.ts';
import {
  CYCLIC,
  type Cycle,
  DISPOSED,
  type Graph,
  NODE,
  type Node,
  nodeName,
  RETAINED,
  RUNNING,
  type RunFrame,
} from '../graph/model.ts';
import { enqueue } from './schedule.ts';

/** Raises a reader above a node it reads, and its readers in turn; false when that would never end. */
export function raiseAbove(reader: Node, source: Node): boolean {
  if (reader.height > source.height) return true;
  reader.height = source.height + 1;
  const raised = [reader];
  for (let node = raised.pop(); node !== undefined; node = raised.pop()) {
    for (let edge = node.first; edge !== undefined; edge = edge.next) {
      const above = edge.reader;
      if ((edge.mode & (CYCLIC | RETAINED)) !== 0 || above.height > node.height) continue;
      if (above === source) return false;
      above.height = node.height + 1;
      raised.push(above);
    }
  }
  return true;
}

/** The nodes by which `from` reads `to`, both included, or undefined. */
export function findPath(from: Node, to: Node): Node[] | undefined {
  const cameFrom = new Map<Node, Node | undefined>([[from, undefined]]);
  for (const node of cameFrom.keys()) {
    if (node === to) {
      const path: Node[] = [];
      for (let at: Node | undefined = to; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
      return path;
    }
    for (const child of nodesRead(node)) if (!cameFrom.has(child)) cameFrom.set(child, node);
  }
  return undefined;
}

/** Every node that reads itself by way of others, at or below the given ones: the strongly connected parts (Tarjan). */
export function nodesInCycles(from: Iterable<Node>): Node[] {
  const found: Node[] = [];
  const order = new Map<Node, number>();
  const open: Node[] = [];
  const isOpen = new Set<Node>();
  const visit = (node: Node): number => {
    const number = order.size;
    order.set(node, number);
    open.push(node);
    isOpen.add(node);
    let lowest = number;
    for (const child of nodesRead(node)) {
      const known = order.get(child);
      if (known === undefined) lowest = Math.min(lowest, visit(child));
      else if (isOpen.has(child)) lowest = Math.min(lowest, known);
    }
    if (lowest === number) {
      const part = open.splice(open.indexOf(node));
      for (const member of part) isOpen.delete(member);
      if (part.length > 1) found.push(...part);
    }
    return lowest;
  };
  for (const node of from) if (!order.has(node)) visit(node);
  return found;
}

function nodesRead(node: Node): Node[] {
  const nodes: Node[] = [];
  for (const { source, mode } of depsOf(node)) if ((mode & RETAINED) === 0 && source.kind === NODE) nodes.push(source);
  return nodes;
}

/** The shortest cycle through a node, the first by name among equals; undefined when it is in none. */
export function shortestCycle(node: Node): Cycle | undefined {
  const cameFrom = new Map<Node, Node>();
  const order = [node];
  for (const at of order) {
    for (const child of nodesRead(at).sort(byName)) {
      if (child === node) {
        const path = [at];
        for (let step = at; step !== node; ) path.unshift((step = cameFrom.get(step) as Node));
        return canonicalCycle(path);
      }
      if (cameFrom.has(child)) continue;
      cameFrom.set(child, at);
      order.push(child);
    }
  }
  return undefined;
}

/** The running nodes from `from` to the run that met it. */
export function runningPath(frame: RunFrame, from: Node): Node[] {
  const path: Node[] = [];
  for (let at: RunFrame | undefined = frame; at !== undefined; at = at.parent) {
    path.unshift(at.node);
    if (at.node === from) break;
  }
  return path;
}

/** Declares the path a cycle: running members come to it when they end, the others run again and find it themselves. */
export function closeCycle(graph: Graph, frame: RunFrame, path: readonly Node[]): Cycle {
  const cycle = canonicalCycle(path);
  for (const member of cycle.members) {
    if ((member.flags & RUNNING) === 0) {
      if (member.cycle === undefined) enqueue(graph, member);
      continue;
    }
    for (let at: RunFrame | undefined = frame; at !== undefined; at = at.parent) {
      if (at.node === member) at.cycled = cycle;
    }
  }
  return cycle;
}

/** Records the cycle of a node. */
export function setCycle(graph: Graph, node: Node, cycle: Cycle | undefined): void {
  const old = node.cycle;
  if (old === undefined && cycle === undefined) return;
  node.cycle = cycle;
  if (cycle === undefined) graph.cyclic.delete(node);
  else graph.cyclic.add(node);
  if (old?.canonical === cycle?.canonical) return;
  // A node may be in several cycles and keeps one of them: others of the old one look whether it is still there.
  for (const member of old?.members ?? []) {
    const sameAsOld = member.cycle?.canonical === old?.canonical;
    if (member !== node && sameAsOld && (member.flags & DISPOSED) === 0) enqueue(graph, member);
  }
}

function byName(a: Node, b: Node): number {
  const [left, right] = [nodeName(a), nodeName(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

export function canonicalCycle(path: readonly Node[]): Cycle {
  const names = path.map(nodeName);
  let start = 0;
  for (const [i, name] of names.entries()) if (name < (names[start] ?? '')) start = i;
  const rotated = [...names.slice(start), ...names.slice(0, start)];
  return {
    members: [...path.slice(start), ...path.slice(0, start)],
    names: rotated,
    canonical: rotated.join('\u0000'),
    error: EngineErrors.cycle(rotated),
  };
}
