// Which nodes would be alive: those that some root still reaches by the reads of the fork. Only nodes that may have lost
// a reader are checked, and from each the way up to a root is short.
import { depsOf } from '../graph/edge.ts';
import { HAS_VALUE, NODE, type Node } from '../graph/model.ts';
import type { Evaluation, Shadow } from './evaluation.ts';

export interface Liveness {
  isAlive(node: Node): boolean;
  /** Nodes of the main graph that would be disposed of. */
  dead: Set<Node>;
}

export function livenessOf(evaluation: Evaluation): Liveness {
  const holds = heldInFork(evaluation);
  const newReaders = new Map<Node, Node[]>();
  for (const shadow of evaluation.shadows.values()) {
    if (!shadow.ran) continue;
    for (const read of shadow.reads) {
      const readers = newReaders.get(read);
      if (readers === undefined) newReaders.set(read, [shadow.node]);
      else readers.push(shadow.node);
    }
  }
  const alive = new Set<Node>();
  const dead = new Set<Node>();
  const isAlive = (node: Node): boolean => {
    if (alive.has(node)) return true;
    if (dead.has(node)) return false;
    const above = new Set([node]);
    for (const at of above) {
      if (dead.has(at)) continue;
      if (alive.has(at) || at.holds + (holds.get(at) ?? 0) > 0) {
        alive.add(node);
        return true;
      }
      for (const reader of newReaders.get(at) ?? []) above.add(reader);
      for (let edge = at.first; edge !== undefined; edge = edge.next) {
        if (stillReads(evaluation, edge.reader, at)) above.add(edge.reader);
      }
    }
    for (const at of above) dead.add(at);
    return false;
  };
  const gone = new Set<Node>();
  const candidates = lostNodes(evaluation);
  for (const node of candidates) {
    if (isAlive(node)) continue;
    if (node.derivation.nodes.get(node.key) === node) gone.add(node);
    for (const { source } of depsOf(node)) if (source.kind === NODE) candidates.add(source);
  }
  return { isAlive, dead: gone };
}

/** How many more roots hold a node than in the main graph. */
function heldInFork({ reach, created }: Evaluation): Map<Node, number> {
  const holds = new Map<Node, number>();
  const add = (node: Node | undefined, by: number) => {
    if (node !== undefined) holds.set(node, (holds.get(node) ?? 0) + by);
  };
  for (const [{ derivation }, key] of reach.entered) {
    add(derivation.nodes.get(key) ?? created.get(derivation)?.get(key), 1);
  }
  for (const [root, key] of reach.left) add(root.members.get(key), -1);
  return holds;
}

function lostNodes(evaluation: Evaluation): Set<Node> {
  const lost = new Set<Node>();
  for (const [root, key] of evaluation.reach.left) {
    const node = root.members.get(key);
    if (node !== undefined) lost.add(node);
  }
  for (const shadow of evaluation.shadows.values()) {
    if (!shadow.ran || shadow.isNew) continue;
    for (const { source } of depsOf(shadow.node)) {
      if (source.kind === NODE && !readsInFork(evaluation, shadow, source)) lost.add(source);
    }
  }
  return lost;
}

function stillReads(evaluation: Evaluation, reader: Node, node: Node): boolean {
  const shadow = evaluation.shadows.get(reader);
  return shadow === undefined || !shadow.ran || readsInFork(evaluation, shadow, node);
}

function readsInFork({ graph }: Evaluation, shadow: Shadow, node: Node): boolean {
  if (shadow.dropped !== undefined) return !shadow.dropped.has(node);
  if (shadow.reads.has(node)) return true;
  // A failed run keeps its former reads.
  return graph.retain && (shadow.outcome?.state !== HAS_VALUE || shadow.cycled !== undefined);
}
